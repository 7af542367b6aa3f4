/** What may be printed of a URL, or of what was meant to be one: everything but user and password. */
export function withoutCredentials(text: string): string {
  const url = URL.parse(text)
  if (url === null || url.host === '') return text.replace(/^.*@/s, '…@')
  url.username = ''
  url.password = ''
  return url.href
}

/** URLs: removal of credentials for printing, decoding of parts, and whether a path stays below another. */

/** Undefined for an invalid escape, and for bytes that are not UTF-8. */
export function percentDecoded(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The printable part of a URL, valid or not: everything but user and password. */
export function withoutCredentials(text: string): string {
  const url = URL.parse(text)
  if (url === null || url.host === '') return text.replace(/^.*@/s, '…@')
  url.username = ''
  url.password = ''
  return url.href
}

/**
 * Whether a server, or a proxy before it, may read a path as one with a `..` segment, which leads out of the path of
 * the database's URL. Servers differ in how much they decode before they look for segments: `%2e`, `%2f` and `\\`
 * count, also encoded several times (`%252e`), and so does `..` before `;` or any other character that a server may cut
 * a segment at.
 */
export const isClimbing = (path: string): boolean =>
  /[.%]/.test(path) && climbingSegment.test(path.replaceAll(/%(?:25)+/g, '%'))

const climbingSegment = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?![\w.~-]|%2e)/i

export const climbingRefused = 'a path with a ".." segment would leave the path of the database\'s URL'

/** A key for the response to a GET: path and parameters. The order of parameters with different names does not count. */
export function keyOfUrl(url: string | URL): string {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  searchParams.sort()
  return `${pathname}?${searchParams}`
}

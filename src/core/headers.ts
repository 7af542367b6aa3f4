/** Header lists as they travel: name, value, name, value … */

/** The value of a header; the values of several lines are one list (RFC 9110 §5.3). */
export function headerOf(headers: readonly string[], name: string): string | undefined {
  let value: string | undefined
  for (let i = 0; i < headers.length; i += 2) {
    const given = headers[i]!
    if (!isNamed(given, name)) continue
    value = value === undefined ? headers[i + 1]! : `${value}, ${headers[i + 1]!}`
  }
  return value
}

export function hasEither(headers: readonly string[], name: string, other: string): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (isNamed(headers[i]!, name) || isNamed(headers[i]!, other)) return true
  }
  return false
}

/** `name`: in lower case. */
const isNamed = (given: string, name: string): boolean =>
  given === name || (given.length === name.length && given.toLowerCase() === name)

/** RFC 8941, as far as Cache-Status (RFC 9211) needs it; anything else throws. And Server-Timing. */

export type Parameters = ReadonlyMap<string, string | number | boolean>

const token = /^[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*/
const key = /^[a-z*][a-z0-9_\-.*]*/
const decimal = /^-?\d{1,15}(?:\.\d{1,3})?/
const string = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"/

/** A list of tokens or strings with parameters: no inner lists. */
export function parseItemList(text: string): [string, Parameters][] {
  const items: [string, Parameters][] = []
  let rest = text.trim()
  for (;;) {
    const [value, afterValue] = nextItem(rest)
    const [parameters, afterItem] = takeParameters(afterValue)
    items.push([String(value), parameters])
    rest = afterItem.replace(/^[ \t]*/, '')
    if (rest === '') return items
    if (!rest.startsWith(',')) throw new Error(`not a structured list: ${text}`)
    rest = rest.slice(1).replace(/^[ \t]*/, '')
  }
}

function takeParameters(text: string): [Parameters, string] {
  const parameters = new Map<string, string | number | boolean>()
  let rest = text
  while (rest.startsWith(';')) {
    rest = rest.slice(1).replace(/^ */, '')
    const name = key.exec(rest)?.[0]
    if (name === undefined) throw new Error(`not a parameter: ${rest}`)
    rest = rest.slice(name.length)
    if (rest.startsWith('=')) {
      const [value, after] = nextItem(rest.slice(1))
      parameters.set(name, value)
      rest = after
    } else parameters.set(name, true)
  }
  return [parameters, rest]
}

function nextItem(text: string): [string | number, string] {
  const quoted = string.exec(text)
  if (quoted !== null) return [quoted[1]!.replace(/\\(.)/g, '$1'), text.slice(quoted[0].length)]
  const number = decimal.exec(text)
  if (number !== null) return [Number(number[0]), text.slice(number[0].length)]
  const word = token.exec(text)
  if (word === null) throw new Error(`not an item: ${text}`)
  return [word[0], text.slice(word[0].length)]
}

/** `plan;dur=0.1, total;dur=3` as a map of durations; throws where it is not that. */
export function parseServerTiming(text: string): Map<string, number> {
  const metric = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+);dur=(\d+(?:\.\d+)?)$/
  const entries = text.split(', ').map((part): [string, number] => {
    const match = metric.exec(part)
    if (match === null) throw new Error(`not a Server-Timing metric: ${part}`)
    return [match[1]!, Number(match[2])]
  })
  return new Map(entries)
}

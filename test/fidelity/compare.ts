/**
 * Two answers to one request: the database's own and the one through the proxy. They must agree in status, content
 * type, `Vary` and, byte for byte, in the body, with one documented exception, the annotations:
 *
 * - Prometheus builds `warnings` and `infos` from a map, so their order is random even between two direct answers.
 * - They belong to a range, not to a step: a cached answer may carry more of them than a direct one, never fewer.
 * - Some texts carry numbers that are merged over the range (how far a histogram had to be forced to be monotonic),
 *   so texts are compared up to numbers, apart from the position in the query at their end, which must be right.
 * - Beyond ten of a kind, Prometheus lists a random ten and counts the rest: then only the presence is compared.
 *
 * Query statistics hold measured times, which no two executions share: only their names are compared.
 */
import type { Answer } from './client.ts'
import type { Difference } from './tally.ts'

interface Split {
  /** Everything up to the annotations. */
  readonly data: Buffer
  readonly warnings: readonly string[]
  readonly infos: readonly string[]
}

/** Returns the first difference, or undefined where the answers agree. */
export function compareAnswers(direct: Answer, proxied: Answer): Difference | undefined {
  return compareHeads(direct, proxied) ?? compareBodies(direct, proxied)
}

function compareHeads(direct: Answer, proxied: Answer): Difference | undefined {
  if (direct.status !== proxied.status) {
    return { what: 'status', direct: describe(direct), proxied: describe(proxied) }
  }
  for (const what of ['content-type', 'vary']) {
    const [left, right] = [direct.headers[what] ?? '', proxied.headers[what] ?? '']
    if (left !== right) return { what, direct: left, proxied: right }
  }
  return undefined
}

const describe = (answer: Answer) => `${answer.status} ${answer.body.toString('utf8', 0, 400)}`

function compareBodies(direct: Answer, proxied: Answer): Difference | undefined {
  if (direct.body.equals(proxied.body)) return undefined
  if (direct.status !== 200) return bodyDifference(direct.body, proxied.body)
  const [left, right] = [splitAnnotations(direct.body), splitAnnotations(proxied.body)]
  const [a, b] = [withoutTimings(left.data), withoutTimings(right.data)]
  if (!a.equals(b)) return bodyDifference(a, b)
  for (const what of ['warnings', 'infos'] as const) {
    if (!isContained(left[what], right[what])) {
      return { what, direct: left[what].join('\n'), proxied: right[what].join('\n') }
    }
  }
  return undefined
}

/**
 * Cuts the envelope before its annotations. A label may be called `warnings`, but its value is a string, and quotes
 * inside strings are escaped: the opening bracket makes the search unambiguous.
 */
export function splitAnnotations(body: Buffer): Split {
  const cuts = ['warnings', 'infos'].map((kind) => body.indexOf(`,"${kind}":[`)).filter((at) => at >= 0)
  if (cuts.length === 0) return { data: body, warnings: [], infos: [] }
  const cut = Math.min(...cuts)
  const data = Buffer.concat([body.subarray(0, cut), Buffer.from('}')])
  const tail: unknown = JSON.parse(`{${body.toString('utf8', cut + 1)}`)
  return { data, warnings: [], infos: [], ...(tail as Partial<Split>) }
}

/** As above, the brace after the name distinguishes the statistics from a label called `stats`. */
function withoutTimings(data: Buffer): Buffer {
  const at = data.indexOf(',"stats":{')
  if (at < 0) return data
  const stats = data.toString('utf8', at).replace(/("\w+Time":)[-+.e\d]+/g, '$1…')
  return Buffer.concat([data.subarray(0, at), Buffer.from(stats)])
}

function isContained(direct: readonly string[], proxied: readonly string[]): boolean {
  const overflowing = [...direct, ...proxied].some((text) => /\d+ more .*annotations omitted/.test(text))
  if (overflowing) return direct.length === 0 || proxied.length > 0
  const known = new Set(proxied.map(withoutNumbers))
  return direct.every((text) => known.has(withoutNumbers(text)))
}

function withoutNumbers(text: string): string {
  const position = /\(\d+:\d+\)$/.exec(text)?.[0] ?? ''
  return text.slice(0, text.length - position.length).replace(numbers, '#') + position
}

/** As Go prints them: 40, -8, 2.1e+03, +Inf. */
const numbers = /[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|\bInf\b|\bNaN\b)/g

const around = 120

/** Both texts in the neighbourhood of the first byte that differs. */
export function bodyDifference(direct: Buffer, proxied: Buffer): Difference {
  const at = firstDifference(direct, proxied)
  const part = (body: Buffer) =>
    `${body.length} bytes, from ${Math.max(0, at - around)}: …${body.toString('utf8', Math.max(0, at - around), at)}⟦here⟧${body.toString('utf8', at, at + around)}…`
  return { what: 'body', direct: part(direct), proxied: part(proxied) }
}

function firstDifference(a: Buffer, b: Buffer): number {
  const common = Math.min(a.length, b.length)
  for (let i = 0; i < common; i++) if (a[i] !== b[i]) return i
  return common
}

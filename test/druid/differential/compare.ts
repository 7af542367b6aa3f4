/**
 * Two answers to one request: Druid's own and the one through the proxy. They must agree in status, in the headers that
 * clients read, and byte for byte in the body. There are two exceptions:
 *
 * - Sums of numbers that are not exact depend on the interval of the query, and with groupBy on chance. For forms
 *   marked so, other digits at the end of such a number are counted, and are no difference.
 * - An error names the query and the server that it failed on: only the kind of the error is compared.
 */
import type { Answer } from '../../fidelity/client.ts'
import { bodyDifference } from '../../fidelity/compare.ts'
import type { Difference } from '../../fidelity/tally.ts'
import type { Inexact } from './form.ts'

const comparedHeaders = ['content-type', 'vary', 'x-druid-response-context', 'x-druid-sql-header-included']

export type Verdict = Difference | 'equal' | 'other digits' | 'other spelling'

/** The permitted differences besides equal bytes. */
export interface Leniency {
  readonly inexact?: Inexact | undefined
  /** Whether unequal bytes have the same meaning. */
  readonly isSame?: ((direct: Buffer, proxied: Buffer) => boolean) | undefined
}

export function compareAnswers(direct: Answer, proxied: Answer, leniency: Leniency = {}): Verdict {
  const { inexact, isSame } = leniency
  const head = compareHeads(direct, proxied)
  if (head !== undefined) return head
  if (direct.body.equals(proxied.body)) return 'equal'
  if (direct.status !== 200) return compareErrors(direct.body, proxied.body)
  if (isSame?.(direct.body, proxied.body) === true) return 'other spelling'
  if (inexact !== undefined && isNearly(direct.body.toString(), proxied.body.toString(), inexact))
    return 'other digits'
  return bodyDifference(direct.body, proxied.body)
}

function compareHeads(direct: Answer, proxied: Answer): Difference | undefined {
  if (direct.status !== proxied.status)
    return { what: 'status', direct: described(direct), proxied: described(proxied) }
  for (const what of comparedHeaders) {
    const [left, right] = [direct.headers[what] ?? '', proxied.headers[what] ?? '']
    if (left !== right) return { what, direct: left, proxied: right }
  }
  return undefined
}

const described = (answer: Answer): string => `${answer.status} ${answer.body.toString('utf8', 0, 400)}`

function compareErrors(direct: Buffer, proxied: Buffer): Verdict {
  const [left, right] = [direct, proxied].map(
    (body) => JSON.parse(body.toString()) as Record<string, unknown>,
  )
  for (const name of ['error', 'errorCode', 'errorClass', 'persona', 'category', 'errorMessage']) {
    if (left![name] !== right![name]) return bodyDifference(direct, proxied)
  }
  return 'equal'
}

/** Numbers with a fraction or an exponent, as Java prints them. Timestamps end in such ones too, and are exact. */
const fractions = /-?\d+\.\d+(?:E-?\d+)?/g
const tolerance: Readonly<Record<Inexact, number>> = { double: 1e-12, float: 1e-5 }

export function isNearly(direct: string, proxied: string, inexact: Inexact): boolean {
  if (direct.replace(fractions, '#') !== proxied.replace(fractions, '#')) return false
  const [left, right] = [direct.match(fractions) ?? [], proxied.match(fractions) ?? []]
  return left.every((text, i) => {
    const [a, b] = [Number(text), Number(right[i])]
    return text === right[i] || Math.abs(a - b) <= tolerance[inexact] * Math.max(Math.abs(a), Math.abs(b))
  })
}

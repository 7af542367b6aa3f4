/**
 * Sends the same requests to a server and to the Windowpane in front of it: forms × steps × phases × windows that
 * repeat, roll, grow, shrink and end between steps, by GET and POST. Every answer is compared byte by byte; the results
 * of each form are counted.
 */
import assert from 'node:assert/strict'
import { request } from 'undici'
import type { Backend } from '../../src/backends/backend.ts'
import type { Span } from './dataset.ts'

export interface Subjects {
  readonly direct: string
  readonly proxied: string
  readonly backend: Backend
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly body: Buffer
  /** `hit`, `partial/absent` and so on; undefined of a server itself. */
  readonly outcome: string | undefined
}

const steps = [5000, 2500]
const phases = [0, 1700, 250]

/** In steps from the beginning of the data, and how far the end lies behind the last step. */
const windows = [
  { from: 10, to: 40 },
  { from: 10, to: 40 },
  { from: 13, to: 43 },
  { from: 13, to: 43, beyondMs: 900 },
  { from: 13, to: 43, beyondMs: 900 },
  { from: 20, to: 38 },
  { from: 2, to: 60 },
  { from: 2, to: 60 },
  { from: 2, to: 61, beyondMs: 1 },
  { from: 30, to: 30 },
]

export type Counts = ReadonlyMap<string, ReadonlyMap<string, number>>

export async function compareForms(
  subjects: Subjects,
  forms: readonly string[],
  span: Span,
): Promise<Counts> {
  const counts = new Map<string, Map<string, number>>()
  for (const query of forms) {
    const seen = new Map<string, number>()
    counts.set(query, seen)
    for (const step of steps)
      for (const phase of phases) {
        for (const [i, window] of windows.entries()) {
          const at = (steps_: number) => span.from + phase + steps_ * step
          const [start, end] = [at(window.from), at(window.to) + (window.beyondMs ?? 0)]
          const form = rangeForm(query, { start, end, step })
          const [direct, proxied] = [
            await ask(subjects.direct, form, i, subjects.headers),
            await ask(subjects.proxied, form, i, subjects.headers),
          ]
          assertSame(subjects.backend, direct, proxied, form)
          const outcome = proxied.outcome ?? 'none'
          seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
        }
      }
  }
  return counts
}

export const rangeForm = (
  query: string,
  { start, end, step }: { start: number; end: number; step: number },
): string =>
  new URLSearchParams({
    query,
    start: String(start / 1000),
    end: String(end / 1000),
    step: String(step / 1000),
  }).toString()

/** Every other one is a POST. */
export async function ask(
  url: string,
  form: string,
  turn = 0,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const path = `${url}/api/v1/query_range`
  const response =
    turn % 2 === 0
      ? await request(`${path}?${form}`, { headers })
      : await request(path, {
          method: 'POST',
          body: form,
          headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
        })
  const body = Buffer.from(await response.body.arrayBuffer())
  const outcome = /detail="([a-z]+(?:\/[a-z_]+)?)/.exec(String(response.headers['cache-status'] ?? ''))?.[1]
  return { status: response.statusCode, body, outcome }
}

export function assertSame(backend: Backend, direct: Answer, proxied: Answer, form: string): void {
  assert.equal(proxied.status, direct.status, `${form}\n${direct.body}\n${proxied.body}`)
  const { executionMembers = [] } = backend.capabilities
  const [own, other] = [direct, proxied].map(({ body }) => withoutMembers(body.toString(), executionMembers))
  if (own === other) return
  const hasNotes = /"(?:warnings|infos)":\[/.test(own!)
  const difference = backend.presentation!.differenceFrom!(direct.body, proxied.body)
  assert.ok(
    hasNotes && difference === 'none',
    `${form}\ndirect  ${own!.slice(0, 2000)}\nproxied ${other!.slice(0, 2000)}`,
  )
}

/** They hold no brackets but their own, as far as they are seen here. */
const withoutMembers = (body: string, names: readonly string[]): string =>
  names.reduce((text, name) => text.replace(new RegExp(`,"${name}":\\{[^{}]*\\}`), ''), body)

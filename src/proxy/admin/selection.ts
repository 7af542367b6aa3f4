/** Selections of data in the body of a request: one JSON object, every mistake with a sentence. */
import type { EpochMs } from '../../core/clock.ts'
import { type Fields, readJsonObject } from '../../core/json-object.ts'
import { iso } from '../../core/text.ts'
import type { Selection } from '../../engine/purge/purge.ts'
import { readTime, timeForms } from './time.ts'

/** The longest name or text that can be selected by; longer shapes have keys. */
const maxNameBytes = 8192

const names = ['backend', 'shape', 'source'] as const
const times = ['from', 'to'] as const

/** The fields of a body that has no others than these. */
export function readObject(
  body: Buffer,
  known: readonly string[],
): { readonly fields: Fields } | { readonly mistake: string } {
  const expected = `expected an object with ${known.join(', ')}`
  const given = readJsonObject(body.toString(), known)
  switch (given.kind) {
    case 'not_json':
      return { mistake: `the body is not JSON; ${expected}` }
    case 'not_object':
      return { mistake: expected }
    case 'unknown_field':
      return { mistake: `"${given.name}" is not known; ${expected}` }
    case 'object':
      return given
  }
}

export function readSelection(fields: Fields, now: EpochMs): Selection | { readonly mistake: string } {
  const selection: Record<string, string | number> = {}
  for (const name of names) {
    const value = fields[name]
    if (value === undefined) continue
    if (typeof value !== 'string' || value === '') return { mistake: `"${name}" is not a text` }
    if (Buffer.byteLength(value) > maxNameBytes) return { mistake: tooLong(name) }
    selection[name] = value
  }
  for (const name of times) {
    if (fields[name] === undefined) continue
    const at = readTime(fields[name], now)
    if (at === undefined) return { mistake: `"${name}" is not a time; times are ${timeForms}` }
    selection[name] = at
  }
  const { from, to }: Selection = selection
  if (from !== undefined && to !== undefined && from >= to) return { mistake: '"from" must lie before "to"' }
  return selection
}

const tooLong = (name: string): string =>
  `"${name}" has more than ${maxNameBytes} bytes; name a shape by its key instead (/-/shapes lists them)`

export const unknownBackend = (name: string, backends: readonly string[]): string =>
  `there is no backend "${name}"; there are: ${backends.join(', ')}`

export const viewOfSelection = (selection: Selection): object => {
  const { from, to, ...names } = selection
  const isAll = Object.keys(selection).length === 0
  return { ...names, ...viewOfSpan(from, to), ...(isAll && { all: true }) }
}

export const viewOfSpan = (from: EpochMs | undefined, to: EpochMs | undefined): object => ({
  ...(isInstant(from) && { from: iso(from) }),
  ...(isInstant(to) && { to: iso(to) }),
})

const isInstant = (value: EpochMs | undefined): value is EpochMs => Number.isFinite(value)

/** Where a store is down, the mark is not in it. */
export const onlyHere =
  'The store could not keep the mark: it holds in this process until it ends, and not in others.'

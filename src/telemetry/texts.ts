/** Texts that leave the process or stay in it: bounded, and without credentials. */
import type { EpochMs } from '../core/clock.ts'
import { copyOf } from '../core/memo.ts'
import type { Visit } from './record.ts'

/** At most `max` characters. A shortened text is copied: a slice would keep the whole text alive. */
export function bounded(text: string, max: number): string {
  return text.length <= max ? text : `${copyOf(text.slice(0, max - 1))}…`
}

/** Enough for display; a body of megabytes is not read for it. */
const maxReadBytes = 8192

/** The text that people recognise an unplanned request by: its path and, where it has one, its query. */
export function questionOf({ path, wire }: Pick<Visit, 'path' | 'wire'>, max: number): string {
  const query = wire === undefined ? null : (queryIn(wire.search) ?? queryIn(beginningOf(wire.body)))
  return copyOf((query === null ? path : `${path} ${query}`).slice(0, max))
}

const queryIn = (form: string): string | null =>
  form.includes('query=') ? new URLSearchParams(form.slice(0, maxReadBytes)).get('query') : null

const beginningOf = (body: Uint8Array): string =>
  Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, maxReadBytes)).toString()

/** Clients may request instants that no calendar has. */
export const iso = (instant: EpochMs): string =>
  Math.abs(instant) <= 8.64e15 ? new Date(instant).toISOString() : String(instant)

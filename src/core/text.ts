/** Texts for people, wherever they are shown. */
import type { EpochMs } from './clock.ts'
import { copyOf } from './memo.ts'

/** Queries are written by strangers: nothing of them may move the cursor or break the line. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029\s]+/gu, ' ').trim()

export const counted = (count: number, thing: string): string =>
  `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`

/** At most `width` characters. A shortened text is copied: a slice would keep the whole text alive. */
export const shorten = (text: string, width: number): string =>
  text.length <= width ? text : `${copyOf(text.slice(0, Math.max(0, width - 1)))}…`

/** Clients may request instants that no calendar has. */
export const iso = (instant: EpochMs): string =>
  Math.abs(instant) <= 8.64e15 ? new Date(instant).toISOString() : String(instant)

/** `fetch` and others have the reason in the cause, or as a code only. */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, code, cause } = error as NodeJS.ErrnoException
  return cause instanceof Error ? failureText(cause) : message || code || 'no answer'
}

/** Control sequences of a picture that is redrawn in place: `leaveScreen` restores the former content. */
export const enterScreen = '\u001b[?1049h\u001b[?25l\u001b[?7l'
export const leaveScreen = '\u001b[?7h\u001b[?25h\u001b[?1049l'

/** To be written at once, every line cleared to its end: nothing flickers. */
export const frameOf = (lines: readonly string[]): string =>
  `\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, violet: 35, cyan: 36, grey: 90 }
export type Colour = keyof typeof codes

export const painted = (text: string, colour: Colour): string => `\u001b[${codes[colour]}m${text}\u001b[0m`

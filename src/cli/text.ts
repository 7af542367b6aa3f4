/** Texts for terminals: without control sequences from outside, in tables, with colours where they are supported. */
import { type Colour, painted, shorten } from '../core/text.ts'
import type { CommandIo } from './command.ts'

export { bytesText } from '../config/units.ts'
export { type Colour, counted, oneLine, shorten } from '../core/text.ts'

/** As `oneLine`, for texts of several lines: nothing of them may move the cursor. */
export const withoutControls = (text: string): string => text.replaceAll(/[^\P{Cc}\n]/gu, ' ')

export type Paint = (text: string, colour: Colour) => string

/** Where the output goes. */
export type TextStyle = Pick<CommandIo, 'terminal'>

export const painter = ({ terminal }: TextStyle): Paint =>
  terminal?.hasColour === true ? painted : (text) => text

/** Lines that fit the terminal, where there is one. */
export const fitted = (lines: readonly string[], { terminal }: TextStyle): string[] =>
  lines.map((line) => shorten(line, terminal?.columns() ?? Number.POSITIVE_INFINITY))

/** Colours mean one thing everywhere: blue is cached, yellow fetched, grey passed on, violet refused, red broken. */
export const outcomeColours: Readonly<Record<string, Colour>> = {
  hit: 'blue',
  partial: 'blue',
  miss: 'yellow',
  stale: 'red',
  bypass: 'grey',
  refused: 'violet',
  error: 'red',
}

interface Column {
  readonly head: string
  /** Numbers stand at the right. */
  readonly isNumber?: boolean
}

export const texts = (...heads: readonly string[]): Column[] => heads.map((head) => ({ head }))

export const numbers = (...heads: readonly string[]): Column[] =>
  heads.map((head) => ({ head, isNumber: true }))

/** The last column is as long as its text. */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const all = [columns.map(({ head }) => head), ...rows]
  const widths = columns.map((_, i) => Math.max(...all.map((cells) => cells[i]!.length)))
  return all.map((cells) =>
    cells
      .map((cell, i) => {
        if (columns[i]!.isNumber) return cell.padStart(widths[i]!)
        return i === columns.length - 1 ? cell : cell.padEnd(widths[i]!)
      })
      .join('  ')
      .trimEnd(),
  )
}

export const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`

/** 0.4 s, 12 s, 3 min, 6 h, 2 d. */
export function secondsText(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`
}

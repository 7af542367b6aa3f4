/** The TTLs of one backend as a curve and a table, for terminals. */
import type { BackendTtl } from '../proxy/admin/ttl.ts'
import type { MeasuredStaleness } from '../ttl/learned/learning.ts'
import type { TtlClass } from '../ttl/ttl-report.ts'
import { numbers, oneLine, type Paint, secondsText, tableLines, texts } from './text.ts'

export interface TtlStyle {
  readonly columns: number
  readonly hasUtf8: boolean
  readonly paint: Paint
}

const minute = 60
const hour = 60 * minute
const day = 24 * hour

/** In at most 30 lines. */
export function ttlLines(report: BackendTtl, style: TtlStyle): string[] {
  const table = tableOf(report).map((line) => (style.hasUtf8 ? line : line.replaceAll('–', '-')))
  return [headLine(report), '', ...chartLines(report.classes, style), '', ...table]
}

function headLine({ backend, rule, shape, budget, classes }: BackendTtl): string {
  const whose = [
    oneLine(backend),
    ...(rule === undefined ? [] : [`rule ${oneLine(rule)}`]),
    ...(shape === undefined ? [] : [`shape ${oneLine(shape)}`]),
  ].join(', ')
  if (budget === null) return `${whose}: no staleness budget; the TTLs of its policy`
  const isLearned = classes.some(({ source }) => source !== 'configured')
  const state = isLearned ? '' : '; the TTLs of its policy'
  return `${whose}: of the buckets shown, at most ${shareText(budget)} may be out of date${state}`
}

const chartRows = 9
const labelWidth = 8
/** The ages at the two ends of the axis, and those between that are labelled. */
export const [youngest, oldest] = [30, 2 * day]
export const ageTicks = [1 * minute, 10 * minute, 1 * hour, 6 * hour, 1 * day]

const marks = {
  fancy: { ttl: '━', changes: '·', corner: '└', axis: '─', side: '│', tick: '┬' },
  plain: { ttl: '=', changes: '.', corner: '+', axis: '-', side: '|', tick: '+' },
} as const

function chartLines(classes: readonly TtlClass[], { columns, hasUtf8, paint }: TtlStyle): string[] {
  const width = Math.max(20, Math.min(columns, 100) - labelWidth - 3)
  const mark = hasUtf8 ? marks.fancy : marks.plain
  const ages = Array.from({ length: width }, (_, i) => youngest * (oldest / youngest) ** (i / (width - 1)))
  const at = ages.map((age) => classAt(classes, age))
  const ttls = at.map(({ ttlS }) => ttlS)
  const [low, high] = [Math.min(...ttls), Math.max(...ttls, Math.min(...ttls) * 16)]
  const rowOf = (seconds: number): number =>
    Math.round(((chartRows - 1) * Math.log(seconds / low)) / Math.log(high / low))
  const lines: string[] = []
  for (let row = chartRows - 1; row >= 0; row--) {
    const label = row % 2 === 0 ? secondsText(low * (high / low) ** (row / (chartRows - 1))) : ''
    const cells = at.map(({ ttlS, rate }) => {
      if (rowOf(ttlS) === row) return paint(mark.ttl, 'blue')
      return rate !== null && rate > 0 && rowOf(1 / rate) === row ? paint(mark.changes, 'yellow') : ' '
    })
    lines.push(`${label.padStart(labelWidth)} ${mark.side}${cells.join('')}`.trimEnd())
  }
  const hasRates = at.some(({ rate }) => rate !== null && rate > 0)
  const legend = `${mark.ttl} TTL${hasRates ? `   ${mark.changes} mean time between changes` : ''}`
  return [...lines, ...axisLines(width, mark), `${' '.repeat(labelWidth + 2)}${legend}, by age of the bucket`]
}

function axisLines(width: number, mark: (typeof marks)[keyof typeof marks]): string[] {
  const axis = new Array<string>(width).fill(mark.axis)
  let labels = ''
  for (const age of ageTicks) {
    const column = Math.round(((width - 1) * Math.log(age / youngest)) / Math.log(oldest / youngest))
    axis[column] = mark.tick
    if (column >= labels.length + 1 || labels === '') labels = `${labels.padEnd(column)}${ageText(age)}`
  }
  const indent = ' '.repeat(labelWidth + 1)
  return [`${indent}${mark.corner}${axis.join('')}`, `${indent} ${labels}`]
}

const classAt = (classes: readonly TtlClass[], age: number): TtlClass =>
  classes.findLast(({ ageFromS }) => (ageFromS ?? Number.NEGATIVE_INFINITY) <= age) ?? classes[0]!

/** Where the age groups begin in which staleness is measured. */
const groups = [Number.NEGATIVE_INFINITY, 2 * minute, 10 * minute, hour, 6 * hour, day]

const columns = [...texts('age', 'TTL', 'changes every', 'stale (95 %)'), ...numbers('samples'), ...texts('')]

function tableOf({ budget, classes }: BackendTtl): string[] {
  const isLearned = classes.some(({ source }) => source !== 'configured')
  const rows = groups.map((from, i) => {
    const to = groups[i + 1] ?? Number.POSITIVE_INFINITY
    const inside = classes.filter((each) => isInside(each, from, to))
    const ttl = rangeText(inside.map(({ ttlS }) => ttlS))
    if (!isLearned) return [groupText(from, to), ttl]
    const every = rangeText(inside.flatMap(({ rate }) => (rate !== null && rate > 0 ? [1 / rate] : [])))
    const { staleness } = inside.findLast((each) => isMeasuredIn(each, from, to)) ?? inside.at(-1)!
    const verdict = [...verdictOf(staleness, budget), ...boundsOf(inside)].join(', ')
    return [groupText(from, to), ttl, every, measuredText(staleness), samplesOf(staleness), verdict]
  })
  return tableLines(columns.slice(0, rows[0]!.length), rows)
}

const isInside = ({ ageFromS, ageToS }: TtlClass, from: number, to: number): boolean =>
  (ageFromS ?? Number.NEGATIVE_INFINITY) < to && (ageToS ?? Number.POSITIVE_INFINITY) > from

/**
 * A class has the measurement of the group that it begins in; the last class, which has no end, that of the last group.
 */
const isMeasuredIn = ({ ageFromS, ageToS }: TtlClass, from: number, to: number): boolean =>
  to === Number.POSITIVE_INFINITY ? ageToS === null : ageToS !== null && (ageFromS ?? from) >= from

function groupText(from: number, to: number): string {
  if (from === Number.NEGATIVE_INFINITY) return `< ${ageText(to)}`
  return to === Number.POSITIVE_INFINITY ? `> ${ageText(from)}` : `${ageText(from)}–${ageText(to)}`
}

function rangeText(seconds: readonly number[]): string {
  if (seconds.length === 0) return '–'
  const [low, high] = [Math.min(...seconds), Math.max(...seconds)].map(secondsText)
  return low === high ? low! : `${low}–${high}`
}

function measuredText({ estimate, low, high, samples }: MeasuredStaleness): string {
  if (samples === 0) return '–'
  return `${shareText(estimate)} (${shareText(low).replace(' %', '')}–${shareText(high)})`
}

const samplesOf = ({ samples }: MeasuredStaleness): string => Math.round(samples).toLocaleString('en-US')

/** Whether the confidence interval of the measurement lies within the budget. */
function verdictOf({ low, high, samples }: MeasuredStaleness, budget: number | null): string[] {
  if (budget === null || samples === 0) return []
  return [high <= budget ? 'within budget' : low > budget ? 'over budget' : 'not certain yet']
}

/** The limits that keep TTLs from obeying the budget. */
const boundsOf = (inside: readonly TtlClass[]): string[] => [
  ...new Set(inside.flatMap(({ boundBy }) => (boundBy === null ? [] : [`${boundBy} binds`]))),
]

/** Two digits that count, however small: 0.25 %, 1 %, 12 %. */
export const shareText = (share: number): string => `${Number((share * 100).toPrecision(2))} %`

export const ageText = (seconds: number): string => {
  if (seconds < hour) return `${seconds / minute} min`
  return seconds < day ? `${seconds / hour} h` : `${seconds / day} d`
}

/**
 * Generated matrix answers as Prometheus prints them, in worlds that do not change: every series and point follows from
 * the number of the world. Full of traps for parsers: escapes, odd numbers, histograms, series that come and go.
 */

import { type Grid, startOf } from '../../src/core/grid.ts'
import type { Interval } from '../../src/core/interval.ts'
import { mixSeeds, pick, type Random, seededRandom, wholeNumber } from '../../src/testing/random.ts'

type Label = readonly [name: string, value: string]
export type LabelSet = readonly Label[]

const names = [
  '__name__',
  'Job',
  'a',
  'job',
  'job_name',
  'le',
  'ünïcode',
  '\u{10000}',
  '\uffff',
  'with space',
]
const plainValues = ['', 'api', 'api-readonly', 'api0', 'API', '+Inf', '0.5', '\u{1f600}', '\uff5e', 'é']
const controls = [
  '\u0000',
  '\u0000a',
  '\u0001',
  '\u0001\u0001',
  '\u0002',
  '\u001f',
  '\u007f',
  '\n\t\r',
  '\b\f',
]
const punctuation = ['"', '\\', '\\"', '\\b', '}', '],[', '{"metric":{', '</script>', '\u2028']
const values = [...plainValues, ...controls, ...punctuation]

/** labels.Compare of Prometheus, written down independently of the ranks. */
export function compareLabels(a: LabelSet, b: LabelSet): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const byName = compareText(a[i]![0], b[i]![0])
    if (byName !== 0) return byName
    const byValue = compareText(a[i]![1], b[i]![1])
    if (byValue !== 0) return byValue
  }
  return a.length - b.length
}

const compareText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Up to four labels, sorted by name as Prometheus keeps them; sometimes none. */
function labelSet(random: Random): LabelSet {
  const labels = new Map<string, string>()
  const count = wholeNumber(random, 0, 4)
  for (let i = 0; i < count; i++) labels.set(pick(random, names), pick(random, values))
  return [...labels].sort(([a], [b]) => compareText(a, b))
}

/** `plain`: Go's encoder without HTML escapes. `ascii`: everything that can be escaped is. */
export type Spelling = 'plain' | 'ascii'

export function printLabels(labels: LabelSet, spelling: Spelling): string {
  const print = spelling === 'plain' ? printPlain : printAscii
  return `{${labels.map(([name, value]) => `${print(name)}:${print(value)}`).join(',')}}`
}

const unit = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Like Go: no short escapes for backspace and form feed, and the line separators escaped. */
const printPlain = (text: string): string =>
  `"${[...text].map((char) => (/[\b\f\u2028\u2029]/.test(char) ? unit(char) : JSON.stringify(char).slice(1, -1))).join('')}"`

const printAscii = (text: string): string =>
  `"${[...text].map((char) => (/[\w -]/.test(char) ? char : char.split('').map(unit).join(''))).join('')}"`

const numbers = [
  'NaN',
  '+Inf',
  '-Inf',
  '-0',
  '0',
  '1',
  '1e-07',
  '1e+21',
  '0.1',
  '-123456789.25',
  '5e-324',
  '1.7976931348623157e+308',
]

function printHistogram(random: Random): string {
  const rules = Array.from(
    { length: wholeNumber(random, 0, 3) },
    (_, i) => `[${wholeNumber(random, 0, 3)},"${i}","${i + 1}","${pick(random, numbers)}"]`,
  )
  const buckets = rules.length === 0 ? '' : `,"buckets":[${rules.join(',')}]`
  return `{"count":"${wholeNumber(random, 0, 99)}","sum":"${pick(random, numbers)}"${buckets}}`
}

/** Integer seconds, or exactly three decimals. */
export const printInstant = (ms: number): string =>
  ms % 1000 === 0 ? `${ms / 1000}` : `${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, '0')}`

type Kind = 'floats' | 'histograms' | 'both'

interface Series {
  readonly head: string
  readonly kind: Kind
  /** The share of buckets with a point while it lives, and how often it lives. */
  readonly density: number
  readonly seed: number
}

interface World {
  readonly number: number
  readonly series: readonly Series[]
  readonly warnings: readonly string[]
  readonly infos: readonly string[]
}

const warningTexts = [
  'PromQL warning: encountered a mix of histograms and floats for aggregation (1:5)',
  'PromQL warning: quantile value should be between 0 and 1, got \\u003c2\\u003e (1:20)',
  '3 more warning annotations omitted',
]
const infoTexts = [
  'PromQL info: metric might not be a counter: \\"größe\\\\\\" (1:6)',
  'PromQL info: input to histogram_quantile needed to be fixed, \\u2028 (1:1)',
]

export type LabelOrder = (a: LabelSet, b: LabelSet) => number

export function worldOf(number: number, order: LabelOrder = compareLabels): World {
  const random = seededRandom(mixSeeds(number, 7))
  const spelling = pick<Spelling>(random, ['plain', 'plain', 'ascii'])
  const sets = new Map<string, LabelSet>()
  const count = pick(random, [0, 1, 2, 5, 9])
  for (let i = 0; i < count; i++) {
    const labels = labelSet(random)
    sets.set(JSON.stringify(labels), labels)
  }
  const series = [...sets.values()].sort(order).map((labels) => ({
    head: `{"metric":${printLabels(labels, spelling)}`,
    kind: pick<Kind>(random, ['floats', 'floats', 'histograms', 'both']),
    density: pick(random, [0.2, 0.7, 1]),
    seed: Math.floor(random() * 2 ** 32),
  }))
  const isNoted = random() < 0.4
  return {
    ...{ number, series },
    warnings: isNoted ? some(random, warningTexts) : [],
    infos: isNoted ? some(random, infoTexts) : [],
  }
}

const some = <T>(random: Random, choices: readonly T[]): T[] => choices.filter(() => random() < 0.5)

/** Prometheus' response for an interval. The order of the annotations is another one in every response. */
export const printMatrix = (number: number, grid: Grid, interval: Interval): Buffer =>
  printWorld(worldOf(number), grid, interval)

export function printWorld(world: World, grid: Grid, interval: Interval): Buffer {
  const { number, series, warnings, infos } = world
  const printed = series.map((each) => printSeries(each, grid, interval)).filter((text) => text !== '')
  const random = seededRandom(mixSeeds(number, interval.from, interval.to))
  const lists = printList('warnings', shuffle(random, warnings)) + printList('infos', shuffle(random, infos))
  return Buffer.from(
    `{"status":"success","data":{"resultType":"matrix","result":[${printed.join(',')}]}${lists}}`,
  )
}

const printList = (name: string, texts: readonly string[]): string =>
  texts.length === 0 ? '' : `,"${name}":[${texts.map((text) => `"${text}"`).join(',')}]`

const shuffle = <T>(random: Random, list: readonly T[]): T[] =>
  list
    .map((item) => [random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item)

function printSeries({ head, kind, density, seed }: Series, grid: Grid, { from, to }: Interval): string {
  const lanes: [string[], string[]] = [[], []]
  for (let bucket = from; bucket < to; bucket++) {
    const lives = seededRandom(mixSeeds(seed, Math.floor(bucket / 6)))() < 0.8
    const random = seededRandom(mixSeeds(seed, bucket))
    if (!lives || random() >= density) continue
    const isFloat = kind === 'floats' || (kind === 'both' && random() < 0.5)
    const value = isFloat ? `"${pick(random, numbers)}"` : printHistogram(random)
    lanes[isFloat ? 0 : 1].push(`[${printInstant(startOf(grid, bucket))},${value}]`)
  }
  const [floats, histograms] = lanes.map((points) => points.join(','))
  if (!floats && !histograms) return ''
  return `${head}${floats && `,"values":[${floats}]`}${histograms && `,"histograms":[${histograms}]`}}`
}

const strings = '("(?:[^"\\\\]|\\\\.)*"(?:,"(?:[^"\\\\]|\\\\.)*")*)'
const trailer = new RegExp(`^([^]*\\]\\})(?:,"warnings":\\[${strings}\\])?(?:,"infos":\\[${strings}\\])?\\}$`)

/** The answer with its annotations as sorted sets: Prometheus rolls their order. */
export function canonicalMatrix(answer: Buffer): Buffer {
  const match = trailer.exec(answer.toString('latin1'))
  if (match === null) return answer
  const [, result, warnings, infos] = match
  const lists = sortedList('warnings', warnings) + sortedList('infos', infos)
  return Buffer.from(`${result}${lists}}`, 'latin1')
}

function sortedList(name: string, list: string | undefined): string {
  if (list === undefined) return ''
  const items = list.match(/"(?:[^"\\]|\\.)*"/gs)!
  return `,"${name}":[${[...new Set(items)].sort().join(',')}]`
}

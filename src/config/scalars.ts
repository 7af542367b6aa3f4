/** Values that a key can have: numbers with and without a unit, truths and choices. Texts are in text-scalars.ts. */
import type { Scalar } from './definition.ts'
import {
  durationPattern,
  formatDuration,
  formatPercentage,
  formatSize,
  parseDuration,
  parsePercentage,
  parseSize,
  percentagePattern,
  sizePattern,
} from './units.ts'

interface Bounds {
  readonly min?: number
  readonly max?: number
}

const isInside = (value: number, { min = 0, max = Number.MAX_SAFE_INTEGER }: Bounds): boolean =>
  value >= min && value <= max

const bounded = (what: string, { min = 0, max }: Bounds, show: (value: number) => string): string =>
  [
    what,
    ...(min === 0 ? [] : [min === 1 ? 'above 0' : `at least ${show(min)}`]),
    ...(max === undefined ? [] : [`at most ${show(max)}`]),
  ].join(', ')

/** Timers of the runtime end at 2^31 ms. */
export const longestTimer: Bounds = { min: 1, max: 24 * 86_400_000 }

export const duration = (bounds: Bounds = { min: 1 }): Scalar<number, 'Ms'> => ({
  kind: 'scalar',
  suffix: 'Ms',
  label: 'duration',
  expected: bounded('a duration such as 500ms, 5s, 15m or 1h30m', bounds, formatDuration),
  json: { type: 'string', pattern: durationPattern },
  parse(value) {
    const ms = typeof value === 'string' ? parseDuration(value) : undefined
    return ms !== undefined && isInside(ms, bounds) ? ms : undefined
  },
  show: formatDuration,
  guess(value) {
    const squeezed = String(value).replaceAll(/\s/g, '').toLowerCase()
    const text = /^\d+$/.test(squeezed) ? `${squeezed}s` : squeezed
    const worded = text.replace(/(m|h|s|d)(?:in|ec|our|r|ay|inute|econd)s?$/, '$1')
    const ms = parseDuration(worded)
    return ms !== undefined && isInside(ms, bounds) && worded !== value ? worded : undefined
  },
})

export const size = (bounds: Bounds = { min: 1 }): Scalar<number, 'Bytes'> => ({
  kind: 'scalar',
  suffix: 'Bytes',
  label: 'size',
  expected: bounded('a size such as 64MiB or 2GB', bounds, formatSize),
  json: {
    anyOf: [
      { type: 'string', pattern: sizePattern },
      { type: 'integer', minimum: 0 },
    ],
  },
  parse(value) {
    const bytes = typeof value === 'boolean' ? undefined : parseSize(String(value))
    return bytes !== undefined && isInside(bytes, bounds) ? bytes : undefined
  },
  show: formatSize,
})

/** A value without a unit, which is written as it is. */
export const unitless = { kind: 'scalar', suffix: '', show: <T>(value: T): T => value } as const

export const count = (bounds: Bounds = { min: 1 }): Scalar<number, ''> => ({
  ...unitless,
  label: 'number',
  expected: bounded('a whole number', bounds, String),
  json: {
    type: 'integer',
    minimum: bounds.min ?? 0,
    ...(bounds.max === undefined ? {} : { maximum: bounds.max }),
  },
  parse: (value) =>
    typeof value === 'number' && Number.isSafeInteger(value) && isInside(value, bounds) ? value : undefined,
  fromText: (text) => (/^\d+$/.test(text) ? Number(text) : text),
})

/** More threads than this are no cores of one machine, but a slip of the hand. */
const maxWorkers = 64
const workerCount = count({ min: 1, max: maxWorkers })

export const workers: Scalar<number | 'auto', ''> = {
  ...workerCount,
  label: 'number or `auto`',
  expected: `${workerCount.expected}, or auto`,
  json: { anyOf: [workerCount.json, { enum: ['auto'] }] },
  parse: (value) => (value === 'auto' ? value : (workerCount.parse(value) as number | undefined)),
  show: (value) => value,
}

/** Above 0. */
export const ratio = (max: number): Scalar<number, ''> => ({
  ...unitless,
  label: 'number',
  expected: `a number above 0, at most ${max}`,
  json: { type: 'number', exclusiveMinimum: 0, maximum: max },
  parse: (value) => (typeof value === 'number' && value > 0 && value <= max ? value : undefined),
  fromText: (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text),
})

/** Sampling cannot distinguish less than this from nothing. */
const minShare = 1e-5

/** A share of something that is neither nothing nor all of it. */
export const percentage: Scalar<number, ''> = {
  ...unitless,
  label: 'percentage',
  expected: `a percentage such as 1% or 0.5%, at least ${formatPercentage(minShare)} and below 100%`,
  json: {
    anyOf: [
      { type: 'string', pattern: percentagePattern },
      { type: 'number', minimum: minShare, exclusiveMaximum: 1 },
    ],
  },
  parse(value) {
    const share = typeof value === 'string' ? parsePercentage(value) : value
    return typeof share === 'number' && share >= minShare && share < 1 ? share : undefined
  },
  show: formatPercentage,
  fromText: (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text),
  // A number is a share, so 1 would be all of it: the percent sign was forgotten.
  guess: (value) => (typeof value === 'number' && value >= 1 && value < 100 ? `${value}%` : undefined),
}

const truths: Readonly<Record<string, string>> = { yes: 'true', on: 'true', no: 'false', off: 'false' }

export const bool: Scalar<boolean, ''> = {
  ...unitless,
  label: 'true or false',
  expected: 'true or false',
  json: { type: 'boolean' },
  parse: (value) => (typeof value === 'boolean' ? value : undefined),
  fromText: (text) => (text === 'true' || text === 'false' ? text === 'true' : text),
  guess: (value) => truths[String(value).toLowerCase()],
}

export const choice = <const C extends string>(...choices: readonly C[]): Scalar<C, ''> => ({
  ...unitless,
  label: choices.map((value) => `\`${value}\``).join(', '),
  expected: choices.length === 1 ? `"${choices[0]}"` : `one of ${choices.join(', ')}`,
  json: { enum: choices },
  parse: (value) => choices.find((one) => one === value),
  choices,
})

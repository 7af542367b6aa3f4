/** The kinds of values that a key can have. */

import { stars } from '../core/secrets.ts'
import { withoutCredentials } from '../core/url.ts'
import { zoneOf } from '../core/zone.ts'
import type { Refusal, Scalar } from './definition.ts'
import { Pattern } from './pattern.ts'
import { Secret } from './secret.ts'
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

const inside = (value: number, { min = 0, max = Number.MAX_SAFE_INTEGER }: Bounds): boolean =>
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
    return ms !== undefined && inside(ms, bounds) ? ms : undefined
  },
  show: formatDuration,
  guess(value) {
    const squeezed = String(value).replaceAll(/\s/g, '').toLowerCase()
    const text = /^\d+$/.test(squeezed) ? `${squeezed}s` : squeezed
    const worded = text.replace(/(m|h|s|d)(?:in|ec|our|r|ay|inute|econd)s?$/, '$1')
    const ms = parseDuration(worded)
    return ms !== undefined && inside(ms, bounds) && worded !== value ? worded : undefined
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
    return bytes !== undefined && inside(bytes, bounds) ? bytes : undefined
  },
  show: formatSize,
})

export const count = (bounds: Bounds = { min: 1 }): Scalar<number, ''> => ({
  kind: 'scalar',
  suffix: '',
  label: 'number',
  expected: bounded('a whole number', bounds, String),
  json: {
    type: 'integer',
    minimum: bounds.min ?? 0,
    ...(bounds.max === undefined ? {} : { maximum: bounds.max }),
  },
  parse: (value) =>
    typeof value === 'number' && Number.isSafeInteger(value) && inside(value, { min: 0, ...bounds })
      ? value
      : undefined,
  show: (value) => value,
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
  kind: 'scalar',
  suffix: '',
  label: 'number',
  expected: `a number above 0, at most ${max}`,
  json: { type: 'number', exclusiveMinimum: 0, maximum: max },
  parse: (value) => (typeof value === 'number' && value > 0 && value <= max ? value : undefined),
  show: (value) => value,
  fromText: (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text),
})

/** Less than this cannot be told from nothing by sampling. */
const minShare = 1e-5

/** A share of something that is neither nothing nor all of it. */
export const percentage: Scalar<number, ''> = {
  kind: 'scalar',
  suffix: '',
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
  kind: 'scalar',
  suffix: '',
  label: 'true or false',
  expected: 'true or false',
  json: { type: 'boolean' },
  parse: (value) => (typeof value === 'boolean' ? value : undefined),
  show: (value) => value,
  fromText: (text) => (text === 'true' || text === 'false' ? text === 'true' : text),
  guess: (value) => truths[String(value).toLowerCase()],
}

export const choice = <const C extends string>(...choices: readonly C[]): Scalar<C, ''> => ({
  kind: 'scalar',
  suffix: '',
  label: choices.map((value) => `\`${value}\``).join(', '),
  expected: choices.length === 1 ? `"${choices[0]}"` : `one of ${choices.join(', ')}`,
  json: { enum: choices },
  parse: (value) => choices.find((one) => one === value),
  show: (value) => value,
  choices,
})

interface TextOptions {
  readonly label: string
  readonly expected: string
  readonly pattern?: string
  readonly refersTo?: string
}

/** Text of a form. */
export const textual = ({ label, expected, pattern = '.', refersTo }: TextOptions): Scalar<string, ''> => ({
  kind: 'scalar',
  suffix: '',
  label,
  expected,
  json: { type: 'string', pattern },
  parse: (value) => (typeof value === 'string' && new RegExp(pattern, 's').test(value) ? value : undefined),
  show: (value) => value,
  ...(refersTo === undefined ? {} : { refersTo }),
})

export const text = textual({ label: 'text', expected: 'a text (in quotes if it looks like a number)' })
export const path = textual({ label: 'file', expected: 'a path', pattern: '^[^\\0]+$' })

/** The name of an entry of another section. */
export const nameOf = (refersTo: string, what: string): Scalar<string, ''> =>
  textual({ label: `name of a ${what}`, expected: `the name of a ${what}`, refersTo })

export const headerName = textual({
  label: 'header name',
  expected: 'the name of a header, such as X-Scope-OrgID',
  pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
})

export const urlPath = textual({
  label: 'path',
  expected: 'a path that begins with "/" and does not end with one, such as /prometheus',
  pattern: '^(?:/[^/?#\\s]+)+$',
})

export const hostName = textual({
  label: 'host',
  expected: 'a host name without port, such as metrics.example.org',
  pattern: '^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$',
})

export const timeZone: Scalar<string, ''> = {
  ...textual({
    label: 'time zone',
    expected: 'the name of a time zone, such as UTC or Europe/Berlin',
    pattern: '^[A-Z][A-Za-z0-9_+-]*(?:/[A-Z][A-Za-z0-9_+-]*)*$',
  }),
  parse: (value) => (typeof value === 'string' && zoneOf(value) !== undefined ? value : undefined),
}

const addressPattern =
  '^(?:[A-Za-z0-9._-]*|\\[[0-9a-fA-F:.%]+\\]):(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$'

export const address: Scalar<string, ''> = {
  ...textual({
    label: 'host:port',
    expected: 'host:port, such as 127.0.0.1:9191 or [::]:9191',
    pattern: addressPattern,
  }),
  guess: (value) =>
    typeof value === 'number' && value > 0 && value < 65_536 ? `127.0.0.1:${value}` : undefined,
}

const userInfo = /^[^/?#]*\/\/[^/?#]*@/

export const url: Scalar<string, ''> = {
  ...textual({
    label: 'URL',
    expected: 'the URL of a database, such as http://prometheus:9090',
    pattern: '^https?://[^/?#\\s]+(?:/[^?#\\s]*)?$',
  }),
  parse: (value) =>
    typeof value === 'string' && /^https?:\/\/[^/?#\s]+(?:\/[^?#\s]*)?$/.test(value) && URL.canParse(value)
      ? value
      : undefined,
  show: (value) => (userInfo.test(value) ? withoutCredentials(value) : value),
  guess(value) {
    if (typeof value !== 'string') return undefined
    // Superset's way to name a Druid.
    const [, secure, address] = /^druid(?:\+http(s)?)?:\/\/([\w.-]+(?::\d+)?)(?:\/|$)/.exec(value) ?? []
    if (address !== undefined) return `http${secure ?? ''}://${address}`
    return /^[\w.-]+(:\d+)?(\/\S*)?$/.test(value) ? `http://${value}` : undefined
  },
  credentials: (value) =>
    userInfo.test(String(value))
      ? 'a URL here must not hold a user or a password: set auth.username and auth.passwordFile instead'
      : undefined,
}

const collectorPattern = '^https?://[^/?#@\\s]+(?:/[^?#\\s]*)?$'
const collectorCredentials =
  'a URL here must not hold a user or a password: set headersFile, with a line "Authorization: …" in the file'

export const collectorUrl: Scalar<string, ''> = {
  ...url,
  expected: 'the URL of an OpenTelemetry collector, such as http://collector:4318',
  json: { type: 'string', pattern: collectorPattern },
  parse: (value) => (userInfo.test(String(value)) ? { refused: collectorCredentials } : url.parse(value)),
  credentials: (value) => (userInfo.test(String(value)) ? collectorCredentials : undefined),
}

/** Lookarounds and backreferences, as people know them from other engines. */
const notLinear = /\(\?<?[=!]|\\(?:[1-9]|k<)/

export const pattern: Scalar<Pattern, ''> = {
  kind: 'scalar',
  suffix: '',
  label: 'regular expression',
  expected: 'a regular expression',
  json: { type: 'string', pattern: '.' },
  parse(value): Pattern | Refusal | undefined {
    if (typeof value !== 'string' || value === '') return undefined
    try {
      return new Pattern(value)
    } catch (error) {
      const reason = (error as Error).message.replace(/^error parsing regexp: /, '')
      const why = notLinear.test(value) ? '; lookarounds and backreferences take more than linear time' : ''
      return { refused: `expected a regular expression in RE2 syntax; this one is not: ${reason}${why}` }
    }
  },
  show: (value) => value.source,
}

export const hidden: Scalar<Secret, ''> = {
  kind: 'scalar',
  suffix: '',
  label: 'secret',
  expected: 'a text that is not empty',
  json: { type: 'string' },
  parse: (value) => (typeof value === 'string' && value !== '' ? new Secret(value) : undefined),
  show: () => stars,
}

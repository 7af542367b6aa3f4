/** Texts that a key can have: names, paths, addresses, patterns and secrets, each of its own form. */
import { stars } from '../core/secrets.ts'
import { withoutCredentials } from '../core/url.ts'
import { zoneOf } from '../core/zone.ts'
import type { Plain, RefusedValue, Scalar } from './definition.ts'
import { Pattern } from './pattern.ts'
import { unitless } from './scalars.ts'
import { Secret } from './secret.ts'

interface TextOptions {
  readonly label: string
  readonly expected: string
  readonly pattern?: string
  readonly refersTo?: string
}

/** Text of a form. */
export const textual = ({ label, expected, pattern = '.', refersTo }: TextOptions): Scalar<string, ''> => ({
  ...unitless,
  label,
  expected,
  json: { type: 'string', pattern },
  parse: (value) => (typeof value === 'string' && new RegExp(pattern, 's').test(value) ? value : undefined),
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

/** Where a `*` at the end stands for anything. */
export const urlPathPattern = textual({
  label: 'path',
  expected: 'a path that begins with "/", perhaps with a "*" at its end, such as /api/v1/targets',
  pattern: '^/[^?#*\\s]*\\*?$',
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
    expected: 'host:port, such as 127.0.0.1:9191 or [::]:9191, or unix:/path',
    pattern: `${addressPattern}|^unix:/[^\\0]*[^/\\0]$`,
  }),
  guess: (value) =>
    typeof value === 'number' && value > 0 && value < 65_536 ? `127.0.0.1:${value}` : undefined,
}

const hostAndPort = '(?:[A-Za-z0-9][A-Za-z0-9._-]*|\\[[0-9a-fA-F:.]+\\]):[0-9]{1,5}'
/** `localhost:9090`: a host with a port is taken as http. */
const withoutScheme = new RegExp(`^${hostAndPort}(?:/|$)`)
const wholeUrl = /^https?:\/\/[^/?#\s]+(?:\/[^?#\s]*)?$/

const userInfo = /^[^/?#]*\/\/[^/?#]*@/
const hasUserInfo = (value: Plain): boolean => userInfo.test(String(value))
/** Of a URL; `remedy` completes the sentence. */
export const credentialsIn =
  (remedy: string) =>
  (value: Plain): string | undefined =>
    hasUserInfo(value) ? `a URL here must not hold a user or a password: ${remedy}` : undefined
/** A URL as it may be shown. */
export const shownUrl = (value: string): string => (hasUserInfo(value) ? withoutCredentials(value) : value)

export const url: Scalar<string, ''> = {
  ...textual({
    label: 'URL',
    expected: 'the URL of a database, such as http://prometheus:9090',
    pattern: `^(?:https?://[^/?#\\s]+|${hostAndPort})(?:/[^?#\\s]*)?$`,
  }),
  parse: (value) => {
    if (typeof value !== 'string') return undefined
    const whole = withoutScheme.test(value) ? `http://${value}` : value
    return wholeUrl.test(whole) && URL.canParse(whole) ? whole : undefined
  },
  show: shownUrl,
  guess: (value) =>
    typeof value === 'string' && /^[\w.-]+(:\d+)?(\/\S*)?$/.test(value) ? `http://${value}` : undefined,
  credentials: credentialsIn('set auth.username and auth.passwordFile instead'),
}

const collectorPattern = '^https?://[^/?#@\\s]+(?:/[^?#\\s]*)?$'
const collectorCredentials = credentialsIn('set headersFile, with a line "Authorization: …" in the file')

export const collectorUrl: Scalar<string, ''> = {
  ...url,
  expected: 'the URL of an OpenTelemetry collector, such as http://collector:4318',
  json: { type: 'string', pattern: collectorPattern },
  parse: (value) => {
    const refused = collectorCredentials(value)
    if (refused !== undefined) return { refused }
    return withoutScheme.test(String(value)) ? undefined : url.parse(value)
  },
  credentials: collectorCredentials,
}

/** Lookarounds and backreferences, as people know them from other engines. */
const notLinear = /\(\?<?[=!]|\\(?:[1-9]|k<)/

export const pattern: Scalar<Pattern, ''> = {
  ...unitless,
  label: 'regular expression',
  expected: 'a regular expression',
  json: { type: 'string', pattern: '.' },
  parse(value): Pattern | RefusedValue | undefined {
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
  ...unitless,
  label: 'secret',
  expected: 'a text that is not empty',
  json: { type: 'string' },
  parse: (value) => (typeof value === 'string' && value !== '' ? new Secret(value) : undefined),
  show: () => stars,
}

/** The sections `backends.<name>.objects` and `instant`: which answers are cached as a whole, and for how long. */

import type { DatabaseKind } from '../backends/kind.ts'
import type { EndpointTerms } from '../backends/whole-answers.ts'
import type { EndpointSettings, WholeSettings } from '../engine/objects/whole-terms.ts'
import {
  type Keys,
  key,
  list,
  nested,
  optional,
  required,
  type Section,
  section,
  type TypeValue,
} from './definition.ts'
import { bool, duration, percentage } from './scalars.ts'
import { urlPathPattern } from './text-scalars.ts'
import { formatDuration } from './units.ts'

const second = 1000
const longest = { max: 30 * 86_400 * second }

const terms = {
  enabled: key(bool, true, { meaning: 'whether they are cached' }),
  revalidate: optional(
    duration({ min: 0, ...longest }),
    'how long an answer is fresh; `0s`: only equal requests at the same time share one',
  ),
  staleness: optional(
    percentage,
    'instead of `revalidate` and `staleWhileRevalidate`: this share of the served answers may be out of date. The rate of change is learned from repeated fetches; until ten of them, `revalidate` applies',
  ),
  staleWhileRevalidate: optional(
    duration({ min: 0, ...longest }),
    'how long after that it is still served at once, while it is fetched again in the background',
  ),
  staleIfError: optional(
    duration({ min: 0, ...longest }),
    'how long after that it is served where the database fails; nothing is, where `maxStale` is `0s`',
  ),
  retention: optional(
    duration({ min: second, ...longest }),
    'how long it is kept in the store; 7d by default',
  ),
}

const endpoint = section(terms)
const path = section({
  path: required(
    urlPathPattern,
    'the path below the URL of the database; a `*` at its end stands for anything',
  ),
  ...terms,
})

type EndpointConfig = TypeValue<typeof endpoint>
type EndpointKinds = Readonly<Record<string, Pick<DatabaseKind, 'label' | 'endpoints'>>>

/** Below `objects.endpoints`. */
export const endpointKeys = ({ endpoints = {} }: Pick<DatabaseKind, 'endpoints'>): Keys =>
  Object.fromEntries(
    Object.entries(endpoints).map(([name, each]) => [
      name,
      nested(endpoint, `${each.meaning}; ${usualTerms(each)}`),
    ]),
  )

/** With `type: auto` a database may turn out to be of any kind: the endpoints of all of them can be written. */
export function objectsSection(kinds: EndpointKinds) {
  const endpoints = section(Object.assign({}, ...Object.values(kinds).map(endpointKeys))) as Section<
    Readonly<Record<string, EndpointConfig>>
  >
  return section({
    enabled: key(bool, true, {
      meaning: 'whether answers that cannot be cut into buckets are cached as a whole',
    }),
    endpoints: nested(endpoints, 'by endpoint'),
    paths: key(list(path), [], {
      meaning:
        'further paths whose answers to GET are cached; only read-only paths with the same answer for all clients of an identity',
    }),
  })
}

export const instantSection = section({
  within: key(duration({ min: 0, max: 600 * second }), 0, {
    meaning:
      'an instant query is answered with an answer to the same query whose `time` lies at most this long before its own; `0s`: never. Named in `Cache-Status`',
  }),
})

/** As a part of a sentence. */
function usualTerms({
  revalidateSeconds,
  staleWhileRevalidateSeconds,
  staleIfErrorSeconds,
}: EndpointTerms): string {
  const shown = (seconds: number) => formatDuration(seconds * second)
  const ifError = staleIfErrorSeconds === 'maxStale' ? '`maxStale`' : shown(staleIfErrorSeconds)
  return `unless given, revalidate ${shown(revalidateSeconds)}, staleWhileRevalidate ${shown(staleWhileRevalidateSeconds)}, staleIfError ${ifError}`
}

interface ObjectsConfig {
  readonly objects: TypeValue<ReturnType<typeof objectsSection>>
  readonly instant: TypeValue<typeof instantSection>
}

/** Undefined where nothing is cached as a whole. */
export function wholeSettingsOf({ objects, instant }: ObjectsConfig): WholeSettings | undefined {
  if (!objects.enabled) return undefined
  const endpoints = Object.entries(objects.endpoints).map(([name, given]) => [name, settingsOf(given)])
  return {
    endpoints: Object.fromEntries(endpoints),
    paths: objects.paths.map((given) => ({ path: given.path, ...settingsOf(given) })),
    instantWithinMs: instant.withinMs,
  }
}

const settingsOf = (given: EndpointConfig): EndpointSettings => ({
  enabled: given.enabled,
  revalidateSeconds: seconds(given.revalidateMs),
  staleness: given.staleness,
  staleWhileRevalidateSeconds: seconds(given.staleWhileRevalidateMs),
  staleIfErrorSeconds: seconds(given.staleIfErrorMs),
  retentionSeconds: seconds(given.retentionMs),
})

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / second)

/** An object that is collected soon after it was fresh is of no use in an outage, and there is nothing to roll back to. */
const leastRetentions = 10

/** Warnings about a valid configuration. */
export function objectWarnings(
  backends: Readonly<Record<string, ObjectsConfig>>,
  kinds: EndpointKinds,
): readonly string[] {
  const usual = new Map(Object.values(kinds).flatMap(({ endpoints = {} }) => Object.entries(endpoints)))
  return Object.entries(backends).flatMap(([name, { objects }]) => {
    const at = `backends.${name}.objects`
    const endpoints = Object.entries(objects.endpoints).map(([each, given]) =>
      retentionWarning(`${at}.endpoints.${each}`, given, usual.get(each)?.revalidateSeconds ?? 0),
    )
    const paths = objects.paths.map((given, i) => retentionWarning(`${at}.paths.${i}`, given, 60))
    return [...endpoints, ...paths].filter((warning) => warning !== undefined)
  })
}

function retentionWarning(at: string, given: EndpointConfig, usualSeconds: number): string | undefined {
  const { retentionMs, revalidateMs = second * usualSeconds } = given
  if (retentionMs === undefined || retentionMs >= leastRetentions * revalidateMs) return undefined
  return `${at}.retention is less than ${leastRetentions} times revalidate (${formatDuration(revalidateMs)}): such answers are collected before they can help in an outage`
}

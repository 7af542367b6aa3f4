/** The sections `quotas` and `backends.*.concurrency`: how many queries each client may cause. */
import type { Limit } from '../limits/limit.ts'
import { problemOf } from '../limits/token-bucket.ts'
import { limitName } from '../stores/cells.ts'
import { kindOfStore } from '../stores/kinds.ts'
import {
  type Check,
  key,
  list,
  named,
  optional,
  type Report,
  required,
  type Scalar,
  section,
  type TypeValue,
} from './definition.ts'
import { bool, choice, count, duration, longestTimer } from './scalars.ts'
import type { Config } from './schema.ts'
import { nameOf, textual } from './text-scalars.ts'

const wholeSeconds: Check = {
  run({ everyMs }: { readonly everyMs: number }, report) {
    if (everyMs % 1000 !== 0) report('every', 'is not a whole number of seconds')
  },
}

const limit = section(
  {
    name: required(
      textual({
        label: 'name of a limit',
        expected: 'the name of a limit, such as requests, cost or points',
        pattern: limitName.source,
      }),
      '`requests`: one token per request; `cost`: one token per second of the time range that is fetched from the database; `points`: one token per series and bucket that is fetched. Other names are for programs that use the same rows',
    ),
    capacity: required(count({ min: 1, max: 1e12 }), 'tokens that the bucket holds: the largest burst'),
    refill: optional(
      count({ min: 1, max: 1e12 }),
      'tokens that are added in each period; as many as the capacity unless given',
    ),
    every: key(duration({ min: 1000 }), 60_000, { meaning: 'the period, in whole seconds' }),
  },
  { checks: [wholeSeconds] },
)

export type LimitConfig = TypeValue<typeof limit>

const entity: Scalar<string, ''> = {
  ...textual({
    label: '`identity`, `address` or `header:NAME`',
    expected: 'identity, address or header:NAME, such as header:X-Scope-OrgID',
    pattern: "^(?:identity|address|header:[A-Za-z0-9!#$%&'*+.^_`|~-]+)$",
  }),
  guess: (value) => (/^x-[a-z-]+$/i.test(String(value)) ? `header:${value}` : undefined),
}

/** As a limiter takes it. */
export const limitOf = ({ name, capacity, refill = capacity, everyMs }: LimitConfig): Limit => ({
  ...{ name, capacity, refillAmount: refill, refillPeriodSeconds: everyMs / 1000 },
})

const limitsCanBeCounted: Check = {
  run({ limits, resources }: QuotasConfig, report) {
    const check = (path: string, own: readonly LimitConfig[]) => {
      const problem = own.length === 0 ? undefined : problemOf(own.map(limitOf))
      if (problem !== undefined) report(path, problem)
    }
    check('limits', limits)
    for (const [name, own] of Object.entries(resources)) check(`resources.${name}`, own)
  },
}

const limits = list(limit)

export const quotasSection = section(
  {
    entity: key(entity, 'identity', {
      meaning:
        'whose tokens a request takes. `identity`: those of the identity partition of the backend; `address`: of the client address; `header:NAME`: of the value of a header, which only a trusted proxy in front may be able to set',
    }),
    store: key(nameOf('stores', 'store'), 'memory', {
      meaning:
        'where tokens are counted: `memory` counts per process; nodes that share a store count together. A store is opened for quotas even where no backend uses it',
      apply: 'restart',
    }),
    onUnavailable: key(choice('allow', 'block'), 'allow', {
      meaning:
        'the behaviour while that store does not answer: requests pass uncounted (`allow`), or are answered 503 (`block`)',
    }),
    dryRun: key(bool, false, { meaning: 'counts and logs the refusals, and refuses nothing' }),
    serveStale: key(bool, false, {
      meaning:
        'answers a request over its `cost` or `points` limit from stored buckets that are stale, within `maxStale`, where that is possible',
    }),
    multiplier: key(count({ min: 1, max: 10_000 }), 7, {
      meaning: 'an unused row of tokens is kept for this many times the time in which it fills up',
    }),
    forwardedCost: key(count({ min: 0, max: 1e12 }), 60, {
      meaning:
        'tokens of `cost` and of `points` that a request takes which is forwarded to the database uncached',
    }),
    limits: key(limits, [], { meaning: 'limits of every entity at every backend without its own' }),
    resources: key(
      named(limits, { expected: 'list of limits' }),
      {},
      { meaning: 'limits of every entity at one backend, by its name; they replace `quotas.limits` there' },
    ),
  },
  { checks: [limitsCanBeCounted] },
)

export type QuotasConfig = TypeValue<typeof quotasSection>

export const concurrencySection = section({
  limit: optional(
    count({ min: 1, max: 100_000 }),
    'concurrent queries to the database, of all kinds; unlimited by default. With several workers each has its share, at least 1',
  ),
  queue: key(count({ min: 0, max: 100_000 }), 100, {
    meaning: 'further queries that may wait in a queue; beyond this, requests are answered stale or 503',
  }),
  wait: key(duration(longestTimer), 10_000, {
    meaning: 'how long a query may wait; afterwards its request is answered stale or 503',
  }),
})

/** Whether any client can be limited: a store of its own is enough, because limits can be set there while running. */
export const hasQuotas = ({ limits, resources, store }: QuotasConfig): boolean =>
  limits.length > 0 || Object.keys(resources).length > 0 || store !== 'memory'

/** Of a resource, see `checkNames`. */
const maxResourceLength = 64

export function quotasFit({ quotas, backends, stores }: Config, report: Report): void {
  for (const name of Object.keys(quotas.resources)) {
    if (backends[name] === undefined)
      report(
        `quotas.resources.${name}`,
        `there is no backends.${name}; expected one of ${Object.keys(backends).join(', ')}`,
      )
  }
  for (const name of Object.keys(backends)) {
    if (hasQuotas(quotas) && name.length > maxResourceLength)
      report(
        `backends.${name}`,
        `has a name of more than ${maxResourceLength} characters, under which no tokens can be counted`,
      )
  }
  const store = stores[quotas.store]
  if (store !== undefined && !kindOfStore(store).capabilities.cells)
    report(
      'quotas.store',
      `a store of type ${store.type} cannot count tokens: choose another, or leave it out to count in memory`,
    )
}

/** The databases that there are: one folder and one line each. */
import {
  type PlanningReason,
  planningReasons,
  type ReasonWords,
  type ServingReason,
  servingReasons,
} from '../core/decision.ts'
import { cortexKind } from './cortex/kind.ts'
import { druidKind } from './druid/kind.ts'
import type { DatabaseKind } from './kind.ts'
import { m3Kind } from './m3/kind.ts'
import { mimirKind } from './mimir/kind.ts'
import { prometheusKind } from './prometheus/kind.ts'
import { thanosKind } from './thanos/kind.ts'
import { victoriametricsKind } from './victoriametrics/kind.ts'

/** In the order of detection; an unrecognised database is classified as the first. */
export const kinds = {
  prometheus: prometheusKind,
  victoriametrics: victoriametricsKind,
  mimir: mimirKind,
  cortex: cortexKind,
  druid: druidKind,
  thanos: thanosKind,
  m3: m3Kind,
} as const satisfies Readonly<Record<string, DatabaseKind>>

export type KindName = keyof typeof kinds

export const kindNames = Object.keys(kinds) as readonly KindName[]

const [usual, ...others] = kindNames

/** The rule below, as a part of a sentence. */
export const portRule = [
  ...others.flatMap((name) => {
    const { ports } = kinds[name] as DatabaseKind
    if (ports.length === 0) return []
    const [noun, verb] = ports.length > 1 ? ['ports', 'mean'] : ['port', 'means']
    return `${noun} ${ports.join(' and ')} ${verb} ${name}`
  }),
  `all others ${usual}`,
].join(', ')

/** The kind of a database that cannot be queried, or is not recognised. */
export function kindByPort(url: string): KindName {
  const port = Number(new URL(url).port)
  return others.find((name) => (kinds[name] as DatabaseKind).ports.includes(port)) ?? usual!
}

/** Whose answers are cached as a whole, whatever the database: metric labels. `path`: those of `objects.paths`. */
export const wholeEndpoints: readonly string[] = [
  ...new Set(kindNames.flatMap((name) => Object.keys((kinds[name] as DatabaseKind).endpoints ?? {}))),
  'path',
]

type KindReason = { [N in KindName]: keyof (typeof kinds)[N]['reasons'] }[KindName]

export type BypassReason = PlanningReason | KindReason | ServingReason

const listed = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** Which databases are cached, as a part of a sentence. */
export const knownDatabases = listed(kindNames.map((name) => kinds[name].known))

/** The closed list of why a request was bypassed: metric labels, docs/reference/outcomes.md and remedies are made of it. */
export const bypassReasons: Readonly<Record<BypassReason, ReasonWords>> = {
  ...planningReasons,
  ...(Object.assign({}, ...kindNames.map((name) => kinds[name].reasons)) as Record<KindReason, ReasonWords>),
  ...servingReasons,
  unknown_flavour: {
    ...servingReasons.unknown_flavour,
    remedy: `Only ${knownDatabases} are cached; ${servingReasons.unknown_flavour.remedy}`,
  },
}

/** The databases that there are: one folder and one line each. */
import { druidKind } from './druid/kind.ts'
import type { DatabaseKind } from './kind.ts'
import { prometheusKind } from './prometheus/kind.ts'
import { victoriametricsKind } from './victoriametrics/kind.ts'

/** In the order in which a database is asked what it is; one that tells nothing is taken for the first. */
export const kinds = {
  prometheus: prometheusKind,
  victoriametrics: victoriametricsKind,
  druid: druidKind,
} as const satisfies Readonly<Record<string, DatabaseKind>>

export type KindName = keyof typeof kinds

export const kindNames = Object.keys(kinds) as readonly KindName[]

const [usual, ...others] = kindNames

/** The rule below, as a part of a sentence. */
export const portRule = [
  ...others.map((name) => `ports ${kinds[name].ports.join(' and ')} mean ${name}`),
  `all others ${usual}`,
].join(', ')

/** What a database is taken for that cannot be asked, or tells nothing. */
export function kindByPort(url: string): KindName {
  const port = Number(new URL(url).port)
  return others.find((name) => kinds[name].ports.includes(port)) ?? usual!
}

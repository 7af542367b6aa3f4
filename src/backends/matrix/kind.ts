/** A kind of database with Prometheus' HTTP API, from its differences. */
import { type Section, section } from '../../config/definition.ts'
import type { DatabaseKind } from '../kind.ts'
import { explainRanges } from './explain.ts'
import { rangeQueryPath } from './paths.ts'
import { type PromqlReason, promqlReasons } from './reasons.ts'
import { speaksPrometheus } from './spoken.ts'
import { endpoints } from './whole-endpoints.ts'

type Own<Keys> = Pick<DatabaseKind<PromqlReason, Keys>, 'label' | 'known' | 'ports' | 'flavour' | 'load'> &
  Partial<DatabaseKind<PromqlReason, Keys>>

export const matrixKind = <Keys = unknown>(own: Own<Keys>): DatabaseKind<PromqlReason, Keys> => ({
  section: section({}) as Section<Keys>,
  reasons: promqlReasons,
  endpoints,
  exceptions: ['align'],
  explain: explainRanges(rangeQueryPath),
  clientLines: ({ url, which }) => [
    `In Grafana, set the URL of the Prometheus data source${which} to ${url}`,
  ],
  // A shape is the same as one of Prometheus, whose kind reads it.
  shapeText: () => undefined,
  isSpokenBy: speaksPrometheus,
  examine: async () => [],
  ...own,
})

/**
 * The interfaces for authors of database backends; published as `windowpane/backend`. The laws are in
 * `windowpane/testing`.
 */

export type { Calendar } from '../core/calendar.ts'
export type { EpochMs } from '../core/clock.ts'
export { type PlanningReason, planningReasons, type ReasonWords } from '../core/decision.ts'
export * from '../core/grid.ts'
export { headerOf } from '../core/headers.ts'
export * from '../core/interval.ts'
export { type Key, type KeyParts, keyOf } from '../core/key.ts'
export { clockOf, type NoteSet, type Pane, PaneBody, slice } from '../core/pane.ts'
export { type Finish, PaneBuilder } from '../core/pane-builder.ts'
export { haveSameFrame, join, usedNoteSets } from '../core/pane-join.ts'
export { type ColumnMerge, columnIn, mergeColumns } from '../core/pane-merge.ts'
export { columnBytes, headBytes, rowBytes } from '../core/pane-rows.ts'
export { fingerprintOf, isSecretName } from '../core/secrets.ts'
export type { TimeSpan } from '../core/witness.ts'
export { instantOf, type LocalMs, offsetAt, Zone, zoneOf } from '../core/zone.ts'
export type * from './backend.ts'
export type * from './segment-watch.ts'
export type * from './whole-answers.ts'

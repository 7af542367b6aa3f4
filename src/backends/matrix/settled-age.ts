/**
 * The configuration key of databases whose data changes later than that of a Prometheus: samples are ingested late and
 * out of order, and compaction and downsampling rewrite existing data.
 */
import { key, section, type TypeValue } from '../../config/definition.ts'
import { duration } from '../../config/scalars.ts'
import type { BackendFactory, BackendOptions } from '../kind.ts'
import type { MatrixBackend } from './backend.ts'
import { optionsWith } from './kind.ts'

export const usualMs = 3_600_000

export const settledAgeKeys = {
  settledAge: key(duration({ min: 0 }), usualMs, {
    meaning:
      'Mimir, Cortex, Thanos, M3: from which age on data no longer changes; set it above the out-of-order window and the ingest delay. Policies that reach their cap earlier are stretched to reach it at this age; learned ones are not',
    apply: 'reopen',
  }),
}

export const settledAgeSection = section(settledAgeKeys)

/** `settledAgeMs` is the settled age of the policy, which may be too early for these databases. */
export interface LateOptions extends BackendOptions {
  /** The age from which on data no longer changes: an hour unless given. Policies that reach their cap earlier are stretched. */
  readonly settlesAfterMs?: number
}

/** Of databases without other keys. */
export const settledLater = (
  open: (options: LateOptions) => MatrixBackend,
): BackendFactory<TypeValue<typeof settledAgeSection>> => ({
  create: (options, { settledAgeMs: settlesAfterMs }) => ({
    backend: open(optionsWith(options, { settlesAfterMs })),
  }),
})

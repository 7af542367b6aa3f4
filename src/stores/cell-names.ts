/** The names of the members of a cell where programs in other languages read it. */
import type { CellClocks } from './cells.ts'

export const clockNames = {
  freshUntil: 'fresh_until',
  staleUntil: 'stale_until',
  errorUntil: 'error_until',
  leaseUntil: 'lease_until',
  refilledAt: 'refilled_at',
} as const satisfies Readonly<Record<keyof CellClocks, string>>

export const clockEntries = Object.entries(clockNames) as readonly (readonly [keyof CellClocks, string])[]

/** Names that no attribute may have. Earlier builds wrote `level`. */
export const reservedNames: ReadonlySet<string> = new Set([
  ...['pk', 'sk', 'kind', 'v', 'rev', 'value', 'level', 'levels', 'ttl'],
  ...Object.values(clockNames),
])

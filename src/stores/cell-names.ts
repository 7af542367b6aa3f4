/** The names of the members of a cell where programs in other languages read it. */
import type { EpochMs } from '../core/clock.ts'
import type { CellClocks } from './cells.ts'

const clockNames = {
  freshUntil: 'fresh_until',
  staleUntil: 'stale_until',
  errorUntil: 'error_until',
  leaseUntil: 'lease_until',
  refilledAt: 'refilled_at',
} as const satisfies Readonly<Record<keyof CellClocks, string>>

const clockEntries = Object.entries(clockNames) as readonly (readonly [keyof CellClocks, string])[]

/** The clocks that are set, under their names. */
export const namedClocks = (clocks: CellClocks): (readonly [name: string, at: EpochMs])[] =>
  clockEntries.flatMap(([member, name]) => {
    const at = clocks[member]
    return at === undefined ? [] : [[name, at] as const]
  })

/** The clocks of a cell; `at` gives the one of a name, or undefined where it is not set. */
export const clocksFrom = (at: (name: string) => EpochMs | undefined): CellClocks =>
  Object.fromEntries(
    clockEntries
      .map(([member, name]) => [member, at(name)] as const)
      .filter(([, clock]) => clock !== undefined),
  )

/** Names that no attribute may have. Earlier builds wrote `level`. */
export const reservedNames: ReadonlySet<string> = new Set([
  ...['pk', 'sk', 'kind', 'v', 'rev', 'value', 'level', 'levels', 'ttl'],
  ...Object.values(clockNames),
])

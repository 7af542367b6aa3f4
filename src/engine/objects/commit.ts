/** Storing a version that was rendered: its body first, then META, in one step with the end of the lease. */
import type { Clock, EpochMs } from '../../core/clock.ts'
import { maxSkewMs } from '../../stores/skew.ts'
import type { StoredObject } from './near-objects.ts'
import type { ObjectLease } from './object-lease.ts'
import {
  baseOf,
  type CommitOutcome,
  type Meta,
  type ObjectRows,
  previousOf,
  type Version,
} from './object-rows.ts'

export interface Commit {
  readonly rows: ObjectRows
  readonly clock: Clock
  readonly pk: string
  readonly object: StoredObject
}

/** Others may change META at the same time (invalidations do not, a rollback does); that is no lost lease. */
const maxAttempts = 4

/** Never rejects. `meta` is the row as it was when the lease was won; without a lease it is read here. */
export async function commit(given: Commit, lease?: ObjectLease, meta?: Meta): Promise<CommitOutcome> {
  const { rows, pk, object } = given
  let outcome: CommitOutcome = 'failed'
  try {
    const known = lease === undefined ? await readUnlessNewer(given) : meta
    if (known === 'newer') return known
    await rows.writeBody(pk, object.version, object.body)
    outcome = await publish(given, lease, known)
  } catch {
    // Others regenerate it again.
  }
  if (outcome !== 'done') void lease?.release()
  return outcome
}

async function readUnlessNewer({ rows, clock, pk, object }: Commit): Promise<Meta | undefined | 'newer'> {
  const meta = await rows.read(pk, clock.now())
  return meta !== undefined && isNewer(meta.current, object.version, clock.now()) ? 'newer' : meta
}

async function publish(
  given: Commit,
  lease: ObjectLease | undefined,
  known: Meta | undefined,
): Promise<CommitOutcome> {
  const { rows, clock, pk, object } = given
  const { version } = object
  let meta = known
  let leaseRev = await lease?.settle()
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const next = { current: version, previous: previousOf(meta, clock.now()) }
    const expected = { meta: meta?.rev, lease: leaseRev }
    const refused = await rows.publish(pk, next, expected).catch(() => 'failed' as const)
    if (refused === undefined) {
      for (const dropped of droppedBetween(meta, next)) void rows.removeBody(pk, dropped).catch(() => {})
      return 'done'
    }
    meta = await rows.read(pk, clock.now())
    // The reply to an attempt was lost.
    if (meta?.current.id === version.id) return 'done'
    if (meta !== undefined && isNewer(meta.current, version, clock.now())) return 'newer'
    if (lease === undefined) continue
    leaseRev = await lease.lookUp()
    if (leaseRev === undefined) return 'lost'
  }
  return 'failed'
}

/** Versions that no row names any more. A version that cannot be removed now is collected by its own clock. */
function droppedBetween(before: Meta | undefined, after: Omit<Meta, 'rev'>): readonly Version[] {
  const kept = new Set([after.current, ...after.previous].map(({ id }) => id))
  return before === undefined ? [] : [before.current, ...before.previous].filter(({ id }) => !kept.has(id))
}

/**
 * A version that knows of later invalidations is newer, whatever the clocks are; so is one that was restored meanwhile.
 */
function isNewer(stored: Version, mine: Version, now: EpochMs): boolean {
  if (mine.generation > stored.generation) return false
  if (stored.restoredAt !== undefined && stored.generation > mine.generation) return true
  return baseOf(stored) > mine.generatedAt && baseOf(stored) <= now + maxSkewMs
}

/** Putting the previous version of an object back. */
import type { Clock } from '../../core/clock.ts'
import { type Generations, keySk } from './generations.ts'
import type { StoredObject } from './near-objects.ts'
import type { ObjectName } from './object-names.ts'
import { maxPrevious, type ObjectRows, type Version } from './object-rows.ts'

interface RollbackOptions {
  readonly rows: ObjectRows
  readonly generations: Generations
  readonly clock: Clock
}

const maxAttempts = 4

/** Undefined where there is no previous version, or where its body is gone. Rejects where the store fails. */
export async function rollBack(
  name: ObjectName,
  options: RollbackOptions,
): Promise<StoredObject | undefined> {
  const { rows, generations, clock } = options
  const { pk } = name
  const before = await rows.read(pk, clock.now())
  const [target] = before?.previous ?? []
  const body = target && (await rows.readBody(pk, target))
  if (target === undefined || body === undefined) return undefined
  // Other nodes then read META again, and a render in progress does not count as newer than the restored version.
  const generation = await generations.invalidate(name.tenant, keySk(name.keyHash))
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const meta = await rows.read(pk, clock.now())
    const older = olderThan(target, [...(meta?.previous ?? []), ...before!.previous])
    const current: Version = { ...target, restoredAt: clock.now(), generation }
    const refused = await rows.publish(pk, { current, previous: older }, { meta: meta?.rev })
    if (refused === undefined) return { version: current, body }
    if (refused === 'failed') throw new Error('the store refused to put the previous version back')
  }
  throw new Error('the object changes too often to put its previous version back')
}

function olderThan(target: Version, versions: readonly Version[]): readonly Version[] {
  const at = versions.findIndex(({ id }) => id === target.id)
  return versions
    .slice(at + 1, at + 1 + maxPrevious)
    .filter(({ generatedAt }) => generatedAt < target.generatedAt)
}

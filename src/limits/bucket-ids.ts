/** Which row counts for an entity and a resource. */
import { hash } from 'node:crypto'
import type { CellId } from '../stores/cells.ts'
import { badLimits } from './token-bucket.ts'

/** The separator of ids and control characters are in no entity: two entities cannot have the same row. */
const entityPattern = /^[^#\p{Cc}]{1,1024}$/u
const resourcePattern = /^[A-Za-z][A-Za-z0-9_.\-/]{0,63}$/
/** Longer entities are hashed: ids of rows are bounded. */
const maxEntityBytes = 256

/** Throws where a name cannot be part of an id: that is a mistake in the program. */
export function checkNames(entity: string, resource: string): void {
  if (typeof entity !== 'string' || !entityPattern.test(entity))
    throw badLimits(
      `The entity ${JSON.stringify(entity)} is empty, too long, or contains "#" or control characters.`,
    )
  if (typeof resource !== 'string' || !resourcePattern.test(resource))
    throw badLimits(
      `The resource ${JSON.stringify(resource)} is not a letter followed by at most 63 letters, digits, "_", ".", "-" and "/".`,
    )
}

/** No entity is empty, so that the hash of one is not the name of another. */
export const bucketId = (entity: string, resource: string, shard: number): CellId => ({
  pk: `T#${partOf(entity)}#B#${resource}#${shard}`,
  sk: 'STATE',
})

const partOf = (entity: string): string =>
  Buffer.byteLength(entity) <= maxEntityBytes ? entity : `#${hash('sha256', entity, 'hex')}`

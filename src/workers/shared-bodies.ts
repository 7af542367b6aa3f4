/** From now on this thread makes bodies in memory that all threads share. */
import type { GarbageWatch } from '../core/garbage.ts'
import { takeBodiesFrom } from '../core/pane.ts'
import { sharedMemory } from './shared-pane.ts'

export function shareBodies(garbage: GarbageWatch | undefined): void {
  takeBodiesFrom((length) => {
    garbage?.countShared(length)
    return sharedMemory(length)
  })
}

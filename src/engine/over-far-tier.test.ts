/** The suites of the engine once more, over memory in front of a store that answers by promise. */
import { describe } from 'node:test'
import { rigDefaults, sharedStore } from '../../test/rigs/engine-rig.ts'
import { asynchronous } from '../testing/asynchronous.ts'

rigDefaults.far = (clock) => asynchronous(sharedStore(clock), { clock })

describe('over a far tier that answers by promise', async () => {
  await import('./interval-cache.test.ts')
  await import('./interval-cache-stale.test.ts')
  await import('./stale-several.test.ts')
  await import('./coalescing-several.test.ts')
  await import('./marks.test.ts')
  await import('./purge/purge.test.ts')
  await import('./purge/purge-race.test.ts')
  await import('./shadow/shadow.test.ts')
  await import('./shadow/shadow-several.test.ts')
  await import('./answer-rules.test.ts')
  await import('./simulation.test.ts')
})

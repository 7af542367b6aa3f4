/** The suites of the engine once more, over memory in front of a store that is out of order: requests do not notice. */
import { before, describe } from 'node:test'
import { rigDefaults, sharedStore } from '../../test/rigs/engine-rig.ts'
import { type AsynchronousOptions, asynchronous } from '../testing/asynchronous.ts'

const always = () => 1
const often = () => 0.3

const faults: Readonly<Record<string, Omit<AsynchronousOptions, 'clock'>>> = {
  'is down': { failures: always },
  'throws at once': { throws: always },
  'fails often': { failures: often },
  'returns short pages': { shortReads: always },
  'loses acknowledged writes': { lostWrites: always },
}

const suites = [
  'interval-cache',
  'interval-cache-stale',
  'stale-several',
  'purge/purge-race',
  'shadow/shadow',
  'shadow/shadow-several',
  'answer-rules',
]

for (const [name, fault] of Object.entries(faults)) {
  describe(`over a far tier that ${name}`, async () => {
    before(() => {
      rigDefaults.far = (clock) => asynchronous(sharedStore(clock), { clock, ...fault })
    })
    // A module is run once per address: the query makes another address of it.
    for (const suite of suites) await import(`./${suite}.test.ts?${encodeURIComponent(name)}`)
  })
}

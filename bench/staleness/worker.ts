/** Runs the cases that its parent sends, one at a time. */
import type { StalenessCase } from '../../test/rigs/staleness-case.ts'
import { simulateStaleness } from '../../test/rigs/staleness-simulation.ts'

process.on('message', async (each: StalenessCase) => {
  process.send!(await simulateStaleness(each))
})

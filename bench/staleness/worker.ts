/** Runs the cases that its parent sends, one at a time. */
import type { StalenessCase } from '../../src/testing/staleness-case.ts'
import { simulateStaleness } from '../../src/testing/staleness-simulation.ts'

process.on('message', async (each: StalenessCase) => {
  process.send!(await simulateStaleness(each))
})

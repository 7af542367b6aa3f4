/** The short form of the soak. The long one: `npm run test:soak`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missedMarks, reportText } from './report.ts'
import { soak } from './soak.ts'

test('behind a relay that cuts, refuses and delays connections no response is wrong', async (t) => {
  const options = { requests: 3000, seed: 1, workers: 2, memoryMiB: 32 }
  const report = await soak(t, options)
  t.diagnostic(reportText(options, report))
  assert.deepEqual(missedMarks(options, report), [])
  const { cut, delayed } = report.faults
  assert.ok(cut + delayed > 0, 'the relay did nothing')
})

import assert from 'node:assert/strict'
import test from 'node:test'
import type { ConnectedDatabase, Subject } from '../kind.ts'
import { examinePrometheus } from './examine.ts'

/** A database that takes late samples. */
const databaseWith = (window: string) =>
  ({
    async get(path: string) {
      const data = path.endsWith('/config') ? { yaml: `tsdb:\n  out_of_order_time_window: ${window}\n` } : {}
      return { status: 200, text: JSON.stringify({ data }), date: undefined }
    },
  }) as unknown as ConnectedDatabase

const lateFinding = async (isLearned: boolean, window = '30m') => {
  const policy = { name: 'default', ttl: () => 3_600_000, isLearned }
  const subject = { name: 'main', own: {}, upstreamTimeoutMs: 60_000, policy } as unknown as Subject
  const findings = await examinePrometheus(subject, databaseWith(window))
  return findings.find(({ check }) => check === 'late data main')
}

test('late samples are a warning with the TTL of their age, unless TTLs are learned', async () => {
  const warned = (await lateFinding(false))!
  assert.equal(warned.status, 'warn')
  assert.match(warned.sentence, /a bucket of that age is cached for 1h/)
  const learnt = (await lateFinding(true))!
  assert.deepEqual(
    [learnt.status, learnt.sentence],
    ['ok', 'The database takes samples up to 30m late; how often that happens is learned.'],
  )
})

test('a window is read in the units that Prometheus writes it in', async () => {
  for (const window of ['1w', '1y', '1w2d']) assert.equal((await lateFinding(false, window))?.status, 'warn')
  assert.equal(await lateFinding(false, '0s'), undefined)
})

/** Several processes on one real store together admit exactly the limits: never more, and nothing is lost. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Limit } from '../../src/limits/limit.ts'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { sharedEngines } from '../stores/shared-engines.ts'
import type { TakerHistory, TakerJob } from './taker.ts'

const processes = 3
const script = fileURLToPath(import.meta.resolve('./taker.ts'))

/** All processes begin once all are ready. */
async function takeTogether(url: string, job: TakerJob): Promise<readonly TakerHistory[]> {
  const takers = Array.from({ length: processes }, () => {
    const child = spawn(process.execPath, [script, url, JSON.stringify(job)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
  })
  for (const { lines } of takers) assert.equal((await lines.next()).value, 'ready')
  for (const { child } of takers) child.stdin.write('go\n')
  return Promise.all(
    takers.map(async ({ lines }) => JSON.parse((await lines.next()).value as string) as TakerHistory),
  )
}

/** A request was admitted at some instant between being sent and being answered. */
function checkWindows(limit: Limit, cost: number, histories: readonly TakerHistory[]): void {
  const admissions = histories.flatMap((history) => history.admissions)
  const ends = [...new Set(admissions.map(([, admittedAt]) => admittedAt))]
  for (const from of new Set(admissions.map(([sentAt]) => sentAt)))
    for (const to of ends.filter((end) => end >= from)) {
      const inside = admissions.filter(([sentAt, admittedAt]) => sentAt >= from && admittedAt <= to)
      const credit = ((to - from) * limit.refillAmount) / (limit.refillPeriodSeconds * 1000)
      assert.ok(inside.length * cost <= limit.capacity + credit, `${inside.length} in ${to - from} ms`)
    }
}

const day = 86_400
const common = { requests: 40, atOnce: 8, shards: 1 }

for (const [name, start] of Object.entries(sharedEngines('limits'))) {
  const engine = await start()
  after(() => (isUnavailable(engine) ? undefined : engine.stop?.()))
  describe(`limits of several processes: ${name}`, { skip: skipReason(engine) }, () => {
    if (isUnavailable(engine)) return
    const { url } = engine

    for (const shards of [1, 4])
      test(`exactly the capacity is admitted, shards: ${shards}`, async () => {
        const limits = [
          { name: 'requests', capacity: 52, refillAmount: 1, refillPeriodSeconds: day },
          { name: 'cost', capacity: 1000, refillAmount: 1, refillPeriodSeconds: day },
        ]
        const consume = { requests: 1, cost: 3 }
        const entity = `exact-${shards}`
        const histories = await takeTogether(url, { ...common, entity, limits, consume, shards })
        const sum = (count: (history: TakerHistory) => number) =>
          histories.reduce((total, history) => total + count(history), 0)
        const admitted = sum(({ admissions }) => admissions.length)
        const unknown = sum((history) => history.unknown)
        assert.ok(admitted <= 52, `${admitted} were admitted`)
        // A request tries at most three shards: with more, some tokens may be left in the others.
        if (shards === 1) assert.ok(admitted + unknown >= 52, `${admitted} were admitted, ${unknown} unknown`)
      })

    test('no window admits more than capacity and refill', async () => {
      const limit = { name: 'requests', capacity: 10, refillAmount: 200, refillPeriodSeconds: 1 }
      const job = { ...common, entity: 'windows', limits: [limit], consume: { requests: 2 } }
      checkWindows(limit, 2, await takeTogether(url, job))
    })
  })
}

/** Which client is charged for a query, how much, and when that is refunded. */
import assert from 'node:assert/strict'
import test from 'node:test'
import {
  type AskOptions,
  EngineRig,
  minuteMs,
  type RigOptions,
  type Served,
} from '../../test/rigs/engine-rig.ts'
import type { Charge, CostMeter, OverQuota, QueryCost } from './cost.ts'

interface MeterOptions {
  readonly isLate?: boolean
  readonly capacity?: number
  readonly servesStale?: boolean
}

/** Counts seconds. It never refills. */
class Meter implements CostMeter {
  readonly events: string[] = []
  taken = 0
  readonly #options: MeterOptions

  constructor(options: MeterOptions = {}) {
    this.#options = options
  }

  charge({ seconds, points }: QueryCost) {
    const charged = this.#charge(seconds, points)
    return this.#options.isLate ? Promise.resolve(charged) : charged
  }

  #charge(seconds: number, points: number): Charge | OverQuota {
    const { capacity = Number.POSITIVE_INFINITY, servesStale = false } = this.#options
    if (this.taken + seconds > capacity) {
      this.events.push('refused')
      const limit = { name: 'cost', capacity, refillAmount: 1, refillPeriodSeconds: 1 }
      const limits = [{ limit, available: capacity - this.taken, isExceeded: true }]
      return { refusal: { ok: false, cause: 'exceeded', retryAfterSeconds: 9, limits }, servesStale }
    }
    this.taken += seconds
    this.events.push(`charged ${seconds} ${points}`)
    return {
      settle: (actual) => this.events.push(`settled ${actual.seconds} ${actual.points}`),
      refund: () => {
        this.taken -= seconds
        this.events.push('refunded')
      },
    }
  }
}

class LeavingClient {
  isGone = false
  leave = () => {
    this.isGone = true
  }

  onGone(callback: () => void): void {
    this.leave = () => {
      this.isGone = true
      callback()
    }
  }
}

function setUp(how: RigOptions = {}) {
  const rig = new EngineRig(how)
  rig.database.lagMs = 100
  const ask = async (cells: number, given: AskOptions = {}): Promise<Served> => {
    const served = rig.ask(cells, undefined, given)
    await rig.clock.advance(100)
    return served
  }
  return { rig, ask }
}

for (const isLate of [false, true]) {
  const when = isLate ? 'counted elsewhere' : 'counted here'

  test(`a miss is charged its time range, a hit nothing (${when})`, async () => {
    const { ask } = setUp()
    const meter = new Meter({ isLate })
    assert.equal((await ask(10, { meter })).decision.outcome, 'miss')
    assert.equal((await ask(10, { meter })).decision.outcome, 'hit')
    assert.deepEqual(meter.events, ['charged 600 10', 'settled 600 10'])
  })

  test(`of a partial hit only the gap is charged (${when})`, async () => {
    const { rig, ask } = setUp()
    await ask(10)
    await rig.clock.advance(minuteMs)
    const meter = new Meter({ isLate })
    const { decision } = await ask(10, { meter })
    assert.equal(decision.outcome, 'partial')
    assert.equal(meter.taken, 60 * decision.asked!)
    assert.ok(decision.asked! < 10)
  })

  test(`of many viewers at once the first one pays, and one query is sent (${when})`, async () => {
    const { rig } = setUp()
    const meters = Array.from({ length: 30 }, () => new Meter({ isLate }))
    const all = meters.map((meter) => rig.ask(10, undefined, { meter }))
    await rig.clock.advance(100)
    for (const { answer } of await Promise.all(all)) assert.equal(answer.kind, 'panes')
    assert.equal(rig.database.asked.length, 1)
    assert.deepEqual(
      meters.map(({ taken }) => taken),
      meters.map((_, i) => (i === 0 ? 600 : 0)),
    )
  })

  test(`where the first one cannot pay, the next one does, and only the first is refused (${when})`, async () => {
    const { rig } = setUp()
    const meters = [0, 0, 600, 600].map((capacity) => new Meter({ isLate, capacity }))
    const all = meters.map((meter) => rig.ask(10, undefined, { meter }))
    await rig.clock.advance(100)
    const kinds = (await Promise.all(all)).map(({ answer }) => answer.kind)
    assert.deepEqual(kinds, ['over-quota', 'over-quota', 'panes', 'panes'])
    assert.equal(rig.database.asked.length, 1)
    assert.deepEqual(
      meters.map(({ taken }) => taken),
      [0, 0, 600, 0],
    )
  })

  test(`a query that fails is given back (${when})`, async () => {
    const { rig, ask } = setUp()
    const meter = new Meter({ isLate })
    for (const failure of [
      { reason: 'database_unreachable', detail: 'down' } as const,
      { status: 500, body: 'out of memory' },
      { status: 400, body: 'bad' },
    ]) {
      rig.database.failure = failure
      await ask(10, { meter })
      assert.equal(meter.taken, 0)
      assert.equal(meter.events.at(-1), 'refunded')
    }
  })

  test(`a query is given back when its only client goes away (${when})`, async () => {
    const { rig } = setUp()
    const meter = new Meter({ isLate })
    const client = new LeavingClient()
    void rig.ask(10, undefined, { meter, client })
    await rig.clock.advance(50)
    assert.equal(meter.taken, 600)
    client.leave()
    await rig.clock.advance(0)
    assert.deepEqual([meter.taken, rig.database.cancelled], [0, 1])
  })

  test(`instead of a refusal, stored buckets are served stale (${when})`, async () => {
    const { rig, ask } = setUp()
    await ask(10)
    await rig.clock.advance(minuteMs)
    const meter = new Meter({ isLate, capacity: 0, servesStale: true })
    const { answer, decision, text } = await ask(10, { meter })
    assert.equal(answer.kind, 'panes')
    assert.deepEqual([decision.outcome, decision.reason], ['stale', 'over_quota'])
    assert.match(text, /quota for queries to the database is used up; this answer is stale/)
    assert.equal(rig.database.asked.length, 1)
  })
}

test('a client that leaves while its tokens are being counted gets them back', async () => {
  const { rig } = setUp()
  const meter = new Meter({ isLate: true })
  const client = new LeavingClient()
  const served = rig.ask(10, undefined, { meter, client })
  for (let i = 0; meter.events.length === 0 && i < 20; i++) await Promise.resolve()
  client.leave()
  await rig.clock.advance(0)
  await served
  assert.deepEqual(meter.events, ['charged 600 10', 'refunded'])
  assert.equal(rig.database.asked.length, 0)
})

test('without stored buckets a refusal is a refusal', async () => {
  const { rig, ask } = setUp()
  const { answer } = await ask(10, { meter: new Meter({ capacity: 0, servesStale: true }) })
  assert.equal(answer.kind, 'over-quota')
  assert.equal(rig.database.asked.length, 0)
})

test('stale buckets beyond max stale are no answer', async () => {
  const { rig, ask } = setUp({ maxStaleMs: 1000 })
  await ask(10)
  await rig.clock.advance(3_600_000)
  const meter = new Meter({ capacity: 0, servesStale: true })
  assert.equal((await ask(10, { meter })).answer.kind, 'over-quota')
})

test('background queries are charged to no client', async () => {
  const { rig, ask } = setUp()
  const meter = new Meter()
  await ask(120, { meter })
  const paid = meter.taken
  for (let i = 0; i < 120; i++) {
    await rig.clock.advance(minuteMs / 2)
    await ask(1, { meter: new Meter() })
  }
  assert.equal(meter.taken, paid)
})

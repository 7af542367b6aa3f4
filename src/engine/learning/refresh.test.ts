import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, type RigOptions } from '../../../test/rigs/engine-rig.ts'
import type { AskedQuery } from '../../../test/rigs/fake-database.ts'
import { RangesRig } from '../../../test/rigs/ranges-rig.ts'
import type { TtlPolicy } from '../../ttl/policy.ts'

const hourMs = 60 * minuteMs

/** The database takes 300 ms. */
function newRig(options: RigOptions = {}): EngineRig {
  const rig = options.several === true ? new RangesRig(options) : new EngineRig(options)
  rig.database.lagMs = 300
  return rig
}

const window = 1440

/** The last `window` minutes. Resolves to how many buckets the client's own flight fetched. */
async function look(rig: EngineRig): Promise<number> {
  const until = rig instanceof RangesRig ? rig.openMinute + 1 : 0
  const served =
    rig instanceof RangesRig ? await rig.askRanges([[until - window, until]]) : await rig.ask(window)
  return served.decision.asked ?? 0
}

/** A first look, which misses. */
async function warmUp(rig: EngineRig): Promise<void> {
  void look(rig)
  await rig.clock.advance(1000)
}

/** Viewers, evenly spread over 10 s, for a time. Resolves to the most buckets that any of them waited for. */
async function watch(rig: EngineRig, viewers: number, forMs: number): Promise<number> {
  let most = 0
  for (let ms = 0; ms < forMs; ms += 10_000 / viewers) {
    void look(rig).then((asked) => {
      most = Math.max(most, asked)
    })
    await rig.clock.advance(10_000 / viewers)
  }
  return most
}

/** The queries for more than a tail. */
const wide = (rig: EngineRig): AskedQuery[] => rig.database.asked.filter(({ cells }) => cells > 60)

/**
 * Under the published ladder, buckets up to 53 minutes of age were last fetched before they were settled: they lapse while they
 * are in the tail.
 */
const longestTail = 55

test('no client waits for the refetch of a whole window', async () => {
  for (const several of [false, true]) {
    const rig = newRig({ several })
    await warmUp(rig)
    assert.ok((await watch(rig, 1, 3.5 * hourMs)) <= longestTail, `several intervals: ${several}`)
    const [first, second, ...more] = wide(rig)
    assert.equal(first!.cells, window)
    assert.ok(second!.at - first!.at > 0.99 * hourMs && second!.at - first!.at < hourMs)
    assert.equal(more.length, 2, 'once an hour')
  }
})

test('thirty viewers cause one refresh', async () => {
  const rig = newRig()
  await warmUp(rig)
  assert.ok((await watch(rig, 30, 1.1 * hourMs)) <= longestTail)
  assert.equal(wide(rig).length, 2)
})

test('a shape without requests is not refreshed', async () => {
  const rig = newRig()
  await warmUp(rig)
  await watch(rig, 1, 0.5 * hourMs)
  const before = rig.database.asked.length
  await rig.clock.advance(6 * hourMs)
  assert.equal(rig.database.asked.length, before)
})

/** Settled buckets lapse together at every full 32 minutes; younger ones after 5 s. */
const onEpochs: TtlPolicy = {
  name: 'epochs',
  isMonotone: false,
  capMs: 32 * minuteMs,
  settledAgeMs: 11 * minuteMs,
  ttl: (ageMs) => (ageMs < 11 * minuteMs ? 5000 : 32 * minuteMs),
  plateaus: {
    endOf: (ageMs) => (ageMs < 11 * minuteMs ? 11 * minuteMs : Number.POSITIVE_INFINITY),
    lapseOf: (fetchedAt, ttlMs) =>
      ttlMs === 5000 ? fetchedAt + ttlMs : (Math.floor(fetchedAt / ttlMs) + 1) * ttlMs,
  },
}

test('buckets that lapse on an epoch are refreshed when it ends, and before the next client comes', async () => {
  const rig = newRig()
  rig.policy = onEpochs
  await rig.clock.advance(3000)
  await warmUp(rig)
  assert.ok((await watch(rig, 1, 2 * hourMs)) <= 20)
  const epochs = wide(rig).map(({ at }) => at % (32 * minuteMs))
  assert.deepEqual(epochs, [3000, 1, 1, 1])
})

test('a refresh that fails has no effect', async () => {
  const rig = newRig()
  await warmUp(rig)
  await watch(rig, 1, hourMs - 30_000)
  rig.database.failure = { status: 503, body: 'busy' }
  await watch(rig, 1, 40_000)
  rig.database.failure = undefined
  await watch(rig, 1, minuteMs)
  const asking = rig.ask(window)
  await rig.clock.advance(1000)
  assert.equal((await asking).text, rig.truth(window))
})

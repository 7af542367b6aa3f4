import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs } from '../../test/rigs/engine-rig.ts'
import { newDecision } from '../core/decision.ts'
import type { Interval } from '../core/interval.ts'
import { keyOf } from '../core/key.ts'
import type { FlightEnd } from './claims.ts'
import { GapFiller } from './fill.ts'
import { backgroundTrip, type FetchOver, type IntervalCacheOptions, type Trip } from './trip.ts'

interface Rig {
  readonly rig: EngineRig
  readonly filler: GapFiller
  /** A trip over the last hour; the database takes a second. */
  readonly trip: Trip
  readonly hour: Interval
  readonly fetches: FetchOver[]
}

function newRig(q = 'up', options: Partial<IntervalCacheOptions> = {}): Rig {
  const rig = new EngineRig()
  const fetches: FetchOver[] = []
  const filler = new GapFiller({
    ...rig.options,
    ...options,
    onFetch: (fetched) => void fetches.push(fetched),
  })
  rig.database.lagMs = 1000
  return {
    rig,
    filler,
    fetches,
    trip: tripOf(rig, q),
    hour: rig.plan(rig.openCell - 60 * minuteMs, rig.openCell).window,
  }
}

function tripOf(rig: EngineRig, q: string): Trip {
  const to = rig.openCell
  const plan = rig.planOf(`q=${q}&from=${to - 60 * minuteMs}&to=${to}&step=${minuteMs}`)
  const key = keyOf({ backend: 'cells', identity: '', shape: plan.shape, grid: plan.grid })
  const demands = { notBefore: Number.NEGATIVE_INFINITY, onlyIfCached: false }
  const client = { isGone: false, onGone() {} }
  const request = { plan, identity: '', partition: 'separate', demands, client } as const
  const { policy } = rig
  return { request, plan, key, decision: newDecision(), policy, maxStaleMs: 0, learning: undefined }
}

test('a flight in the background is joined by a client that needs it, and stored', async () => {
  const { rig, filler, trip, hour, fetches } = newRig()
  const landing = filler.inBackground(backgroundTrip(trip, undefined), [hour])
  await rig.clock.advance(500)
  const filling = filler.fill(trip, [hour], [])
  await rig.clock.advance(500)
  assert.equal((await landing).kind, 'panes')
  const filled = await filling
  assert.ok(filled !== 'again' && 'panes' in filled)
  assert.equal(trip.decision.collapsed, true)
  assert.equal(rig.database.asked.length, 1)
  assert.deepEqual(
    fetches.map(({ intervals }) => intervals),
    [[hour]],
  )
  assert.equal((await rig.ask(60, rig.openCell)).decision.outcome, 'hit')
})

test('buckets that a client is fetching are not fetched again in the background', async () => {
  const { rig, filler, trip, hour } = newRig()
  const filling = filler.fill(trip, [hour], [])
  const landing = filler.inBackground(backgroundTrip(trip, undefined), [{ from: hour.to - 20, to: hour.to }])
  await rig.clock.advance(1000)
  assert.equal((await landing).kind, 'panes')
  await filling
  assert.equal(rig.database.asked.length, 1)
})

test('two are under way at once; more are not sent', async () => {
  const { rig, filler } = newRig()
  const send = (q: string) => {
    const trip = tripOf(rig, q)
    return filler.inBackground(backgroundTrip(trip, undefined), trip.plan.whole)
  }
  const all = ['a', 'b', 'c'].map(send)
  await rig.clock.advance(1000)
  const kinds = (await Promise.all(all)).map(({ kind }) => kind)
  assert.deepEqual(kinds, ['panes', 'panes', 'abandoned'])
  const later = send('c')
  await rig.clock.advance(1000)
  assert.equal((await later).kind, 'panes')
})

test('buckets that another thread or node is fetching are not fetched in the background', async () => {
  const released: FlightEnd[] = []
  const claims = {
    claim: () => ({
      verdict: Promise.resolve({ acceptFrom: 0 }),
      release: (end: FlightEnd) => void released.push(end),
    }),
  }
  const { rig, filler, trip, hour } = newRig('up', { claims })
  assert.equal((await filler.inBackground(backgroundTrip(trip, undefined), [hour])).kind, 'abandoned')
  assert.deepEqual([rig.database.asked.length, released], [0, ['abandoned']])
})

test('a database that is down is not queried in the background', async () => {
  const { rig, filler, trip, hour } = newRig()
  rig.database.failure = { reason: 'database_unreachable', detail: 'refused' }
  const kinds: string[] = []
  for (let i = 0; i < 2; i++) {
    const landing = filler.inBackground(backgroundTrip(trip, undefined), [hour])
    await rig.clock.advance(1000)
    kinds.push((await landing).kind)
  }
  assert.deepEqual(kinds, ['broken', 'abandoned'])
})

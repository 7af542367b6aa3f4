/** Several threads, with requests for several gaps and for parts of buckets, which are never stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteMs } from '../../test/rigs/engine-rig.ts'
import { ThreadRig } from '../../test/rigs/thread-rig.ts'
import type { Span } from '../testing/backend-runs.ts'
import { pick, seededRandom, wholeNumber } from '../testing/random.ts'

const lagMs = 50

function newRig(threads: number, seed: number): ThreadRig {
  const rig = new ThreadRig(threads, seededRandom(seed), { several: true })
  rig.database.lagMs = lagMs
  return rig
}

/** In minutes after a day before now. */
const spansIn = (rig: ThreadRig, ranges: readonly (readonly [number, number])[]): Span[] => {
  const start = rig.openCell - 1440 * minuteMs
  return ranges.map(([from, to]) => ({ from: start + from * minuteMs, to: start + to * minuteMs }))
}

const truthOf = (rig: ThreadRig, spans: readonly Span[]) => rig.database.truthOf(spans, { step: minuteMs })

const cellsAsked = (rig: ThreadRig) => rig.database.asked.splice(0).map(({ cells }) => cells)

test('several gaps of which another thread fetches some: each is fetched once', async () => {
  const rig = newRig(2, 1)
  const [some, all] = [
    spansIn(rig, [
      [10, 12],
      [14, 16],
    ]),
    spansIn(rig, [[8, 18]]),
  ]
  const first = rig.askSpans(0, some)
  await rig.clock.advance(10)
  const second = rig.askSpans(1, all)
  await rig.clock.advance(300)
  assert.equal((await first).text, truthOf(rig, some))
  assert.equal((await second).text, truthOf(rig, all))
  assert.deepEqual(cellsAsked(rig), [4, 6])
  assert.equal(rig.openClaims, 0)
})

test('equal requests with edges: one thread fetches everything, the others their edges', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const rig = newRig(3, seed)
    const spans = spansIn(rig, [[10.5, 19.5]])
    const all = Array.from({ length: 12 }, (_, i) => rig.askSpans(i % 3, spans))
    await rig.clock.advance(500)
    for (const served of await Promise.all(all)) assert.equal(served.text, truthOf(rig, spans))
    assert.deepEqual(cellsAsked(rig), [10, 2, 2], `seed ${seed}`)
    assert.deepEqual([rig.openClaims, rig.held], [0, 0])
  }
})

test('an edge that another thread fetches is not waited for: it is stored nowhere', async () => {
  const rig = newRig(3, 3)
  const spans = spansIn(rig, [[10.5, 19.5]])
  const first = rig.askSpans(0, spans)
  await rig.clock.advance(100)
  await first
  rig.database.asked.length = 0
  const all = [0, 1, 2].map((place) => rig.askSpans(place, spans))
  // A message to the main thread and back, and no query of another thread.
  await rig.clock.advance(10)
  assert.deepEqual(cellsAsked(rig), [2, 2, 2])
  await rig.clock.advance(lagMs)
  for (const served of await Promise.all(all)) {
    assert.equal(served.text, truthOf(rig, spans))
    assert.ok(served.decision.timings.fetch < 2 * lagMs)
  }
})

test('threads with random requests get true answers, and no claim remains', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = seededRandom(seed)
    const rig = newRig(3, seed)
    const quarter = (max: number) => wholeNumber(random, 0, 4 * max) / 4
    const all: Promise<void>[] = []
    for (let i = 0; i < 25; i++) {
      const from = quarter(12)
      const middle = from + quarter(6) + 0.25
      const behind = middle + quarter(3) + 0.25
      const spans = spansIn(rig, [
        [from, middle],
        [behind, behind + quarter(6) + 0.25],
      ])
      all.push(
        rig
          .askSpans(i % 3, spans)
          .then(({ text }) => assert.equal(text, truthOf(rig, spans), `seed ${seed}`)),
      )
      await rig.clock.advance(pick(random, [0, 0, 1, 10, 60]))
    }
    await rig.clock.advance(2000)
    await Promise.all(all)
    assert.deepEqual([rig.openClaims, rig.held], [0, 0])
  }
})

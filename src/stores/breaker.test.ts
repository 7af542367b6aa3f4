import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type FakeClock, fakeClock } from '../testing/fake-clock.ts'
import { Breaker } from './breaker.ts'

function rig(): { clock: FakeClock; breaker: Breaker } {
  const clock = fakeClock()
  return { clock, breaker: new Breaker(clock) }
}

function fail(breaker: Breaker, times: number): void {
  for (let i = 0; i < times; i++) breaker.admit()!.settle(false)
}

/** Moves time until the breaker is half-open; returns how long that took. */
async function untilProbe(clock: FakeClock, breaker: Breaker): Promise<number> {
  const began = clock.elapsed()
  while (breaker.state === 'open') await clock.advance(10)
  return clock.elapsed() - began
}

test('it opens after three failures in a row, and a success in between starts the count again', () => {
  const { breaker } = rig()
  fail(breaker, 2)
  breaker.admit()!.settle(true)
  fail(breaker, 2)
  assert.equal(breaker.state, 'closed')
  fail(breaker, 1)
  assert.equal(breaker.state, 'open')
  assert.equal(breaker.admit(), undefined)
})

test('it opens when half of the last twenty operations failed, in whatever order', () => {
  const { breaker } = rig()
  for (let i = 0; i < 9; i++) {
    breaker.admit()!.settle(true)
    fail(breaker, 1)
  }
  assert.equal(breaker.state, 'closed')
  fail(breaker, 1)
  assert.equal(breaker.state, 'open')
})

test('a store that fails now and then is used: one failure in four opens nothing', () => {
  const { breaker } = rig()
  for (let i = 0; i < 1000; i++) breaker.admit()!.settle(i % 4 !== 0)
  assert.deepEqual(breaker.transitions, { closed: 0, open: 0, half_open: 0 })
})

test('half-open lets one probe through; its success closes', async () => {
  const { clock, breaker } = rig()
  fail(breaker, 3)
  await untilProbe(clock, breaker)
  const probe = breaker.admit()!
  assert.deepEqual([breaker.isAdmitting, breaker.admit()], [false, undefined])
  probe.settle(true)
  assert.equal(breaker.state, 'closed')
  assert.deepEqual(breaker.transitions, { closed: 1, open: 1, half_open: 1 })
})

test('open times grow from one second to half a minute, and no two nodes need have the same', async () => {
  const { clock, breaker } = rig()
  fail(breaker, 3)
  const times: number[] = []
  for (let i = 0; i < 8; i++) {
    times.push(await untilProbe(clock, breaker))
    breaker.admit()!.settle(false)
  }
  for (const [i, ms] of times.entries()) {
    const longest = Math.min(30_000, 1000 * 2 ** i)
    assert.ok(ms >= 0.75 * longest && ms <= longest + 10, `${ms} of ${longest}`)
  }
  assert.ok(new Set(times.map((ms, i) => ms / 2 ** i)).size > 2)
})

test('a store that flaps is left alone for longer each time; one that was well for a minute is not', async () => {
  const { clock, breaker } = rig()
  const waits: number[] = []
  for (let i = 0; i < 5; i++) {
    fail(breaker, 3)
    waits.push(await untilProbe(clock, breaker))
    breaker.admit()!.settle(true)
    await clock.advance(1000)
  }
  assert.ok(waits[4]! > 8 * waits[0]!, String(waits))
  await clock.advance(60_000)
  fail(breaker, 3)
  assert.ok((await untilProbe(clock, breaker)) <= 1010)
})

test('the result of an operation admitted in an earlier state is ignored', async () => {
  const { clock, breaker } = rig()
  const late = [breaker.admit()!, breaker.admit()!]
  fail(breaker, 3)
  late[0]!.settle(true)
  assert.equal(breaker.state, 'open')
  await untilProbe(clock, breaker)
  late[1]!.settle(true)
  assert.equal(breaker.state, 'half_open')
})

test('whatever happens: never more than one probe, never open for more than half a minute, and it closes when all is well', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('admit' as const) }),
    fc.record({ do: fc.constant('settle' as const), which: fc.nat(9), isOk: fc.boolean() }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200 }), async (steps) => {
      const { clock, breaker } = rig()
      const pending: { settle(isOk: boolean): void }[] = []
      let probes = 0
      for (const each of steps) {
        if (each.do === 'wait') await clock.advance(each.ms)
        else if (each.do === 'settle') pending.splice(each.which, 1)[0]?.settle(each.isOk)
        else {
          const { state, isAdmitting } = breaker
          const admission = breaker.admit()
          assert.equal(admission !== undefined, isAdmitting)
          assert.ok(state !== 'open' || admission === undefined)
          if (admission !== undefined) pending.push(admission)
          if (state === 'half_open' && admission !== undefined) probes++
        }
        assert.ok(breaker.opensForMs <= 30_000)
        assert.ok(probes <= breaker.transitions.half_open, 'one probe each time')
      }
      for (const { settle } of pending.splice(0)) settle(false)
      await clock.advance(30_000)
      for (let i = 0; i < 2; i++) breaker.admit()?.settle(true)
      assert.equal(breaker.state, 'closed')
    }),
    { numRuns: 300 },
  )
})

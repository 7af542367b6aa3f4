import assert from 'node:assert/strict'
import test from 'node:test'
import { Budget } from '../../core/budget.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { isLong, Planning, queryBytes } from './planning.ts'

const planned = { bypass: 'planned' }
const MiB = 2 ** 20

/** Planning on a clock that each plan moves by its duration. */
function rig(planningMs = 1000) {
  const fake = fakeClock()
  let spent = 0
  const clock = { ...fake, elapsed: () => fake.elapsed() + spent }
  const budget = new Budget(64 * MiB)
  const planning = new Planning({ clock, budget, planningMs })
  const plan = (address: string, ms: number, bytes = 4096) =>
    planning.run({ bytes, address }, () => {
      spent += ms
      return planned
    })
  return { plan, budget, wait: (ms: number) => fake.advance(ms) }
}

const refused = { bypass: 'planning_budget' }

test('a client whose long queries took its share has the next ones forwarded, until it is refilled', async () => {
  const { plan, wait } = rig()
  // 25 from the full share, and one from the refill of that second.
  for (let i = 0; i < 26; i++) assert.equal(plan('a', 40), planned)
  assert.deepEqual(plan('a', 40), refused)
  assert.equal(plan('b', 40), planned, 'another client is not affected')
  // A fortieth of it each second.
  await wait(1000)
  assert.equal(plan('a', 40), planned)
  assert.deepEqual(plan('a', 40), refused)
  await wait(60_000)
  for (let i = 0; i < 26; i++) assert.equal(plan('a', 40), planned)
  assert.deepEqual(plan('a', 40), refused)
})

test('all clients together have two shares, so further addresses win nothing', async () => {
  const { plan, wait } = rig()
  let count = 0
  for (let i = 0; i < 1000; i++) if (plan(`10.0.${i >> 8}.${i & 255}`, 40) === planned) count++
  // Each plan takes 40 ms, in which 2 ms are refilled.
  assert.ok(count >= 50 && count <= 53, `${count} plans`)
  await wait(1000)
  assert.equal(plan('another', 40), planned)
})

test('a memoised plan costs nothing', () => {
  const { plan } = rig()
  for (let i = 0; i < 100_000; i++) assert.equal(plan('a', 0.05), planned)
})

test('the memory of the parser is in the budget while a text is planned', () => {
  const { plan, budget } = rig()
  const { planning, held } = measured()
  planning()
  assert.deepEqual(held, [64 * 4096, 16 * MiB])
  assert.equal(plan('a', 1, 10 * MiB), planned)
  assert.equal(budget.used, 0)
  assert.ok(budget.reserve(60 * MiB))
  assert.deepEqual(plan('a', 1, MiB), { bypass: 'memory_exhausted' })
  assert.equal(plan('a', 1, 4096), planned)
  assert.equal(budget.used, 60 * MiB)
})

function measured() {
  const budget = new Budget(64 * MiB)
  const held: number[] = []
  const inner = new Planning({ clock: fakeClock(), budget, planningMs: 1000 })
  const planning = () => {
    for (const bytes of [4096, MiB]) {
      inner.run({ bytes, address: '' }, () => {
        held.push(budget.used)
        return planned
      })
    }
  }
  return { planning, held }
}

test('room is given back where planning throws', () => {
  const budget = new Budget(64 * MiB)
  const planning = new Planning({ clock: fakeClock(), budget, planningMs: 1000 })
  assert.throws(() => planning.run({ bytes: 4096, address: '' }, () => assert.fail('a fault')))
  assert.equal(budget.used, 0)
})

test('queries below 2 KiB are short, wherever their text stands', () => {
  const bytes = (search: number, body: number) =>
    queryBytes({ search: 'x'.repeat(search), body: new Uint8Array(body) })
  assert.deepEqual([bytes(2047, 0), bytes(0, 2047), bytes(1024, 1023)].map(isLong), [false, false, false])
  assert.deepEqual([bytes(2048, 0), bytes(0, 2048), bytes(1024, 1024)].map(isLong), [true, true, true])
})

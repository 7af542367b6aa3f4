import assert from 'node:assert/strict'
import test from 'node:test'
import type { Charge, OverQuota } from '../../engine/cost.ts'
import type { Limit } from '../../limits/limit.ts'
import type { Cells } from '../../stores/cells.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { Limiters } from './limiters.ts'
import { Quota } from './quota.ts'
import type { QuotaTerms } from './terms.ts'
import type { Ticket } from './ticket.ts'

const limit = (name: string, capacity: number): Limit => ({
  ...{ name, capacity, refillAmount: 1, refillPeriodSeconds: 1 },
})

const usual: QuotaTerms = {
  ...{ entity: { header: 'x-tenant' }, onUnavailable: 'allow', isDryRun: false, servesStale: false },
  ...{ multiplier: 7, forwardedCost: 60, base: { system: [limit('requests', 3), limit('cost', 1000)] } },
}

/** Every operation takes a turn of the event loop, or fails. */
const farCells = (cells: Cells, isDown = () => false): Cells =>
  new Proxy(cells, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown
      if (typeof member !== 'function') return member
      return async (...given: unknown[]) => {
        await Promise.resolve()
        if (isDown()) throw new Error('down')
        return member.apply(target, given) as unknown
      }
    },
  })

function setUp(given: Partial<QuotaTerms> = {}, wrap: (cells: Cells) => Cells = (cells) => cells) {
  const clock: FakeClock = fakeClock()
  const state: { terms: QuotaTerms | undefined; logged: string[] } = {
    terms: { ...usual, ...given },
    logged: [],
  }
  const cells = wrap(memoryCells({ clock }))
  const limiters = new Limiters({ cells, clock, terms: () => state.terms })
  const quota = new Quota({
    ...{ backend: 'main', clock, limiters, terms: () => state.terms, partition: () => 'separate' },
    log: { change: (topic, { is }) => void state.logged.push(`${topic}: ${is}`) },
  })
  const admit = (tenant = 'a') => quota.admit({ headers: ['x-tenant', tenant], address: '' })
  return { clock, quota, admit, state }
}

const charged = (charge: Charge | OverQuota): Charge => {
  assert.ok('settle' in charge)
  return charge
}
const left = async (
  admission: { readonly ticket: Ticket } | Promise<{ readonly ticket: Ticket }>,
  name: string,
) => new RegExp(`"${name}";r=(\\d+)`).exec((await admission).ticket.fields[1] ?? '')?.[1]

test('with tokens in this thread a request is admitted or refused at once', () => {
  const { admit } = setUp()
  for (let i = 0; i < 3; i++) {
    const admission = admit()
    assert.ok(!(admission instanceof Promise) && admission.refusal === undefined)
  }
  const admission = admit()
  assert.ok(!(admission instanceof Promise))
  assert.equal(admission.refusal?.cause, 'exceeded')
  assert.equal(admission.refusal.retryAfterSeconds, 1)
})

test('a charge is settled, or given back once', async () => {
  const { clock, admit } = setUp({ base: { system: [limit('requests', 100), limit('points', 50)] } })
  const { ticket } = await admit()
  const first = charged(await ticket.charge({ seconds: 600, points: 10 }))
  assert.equal(await left(admit(), 'points'), '40')
  first.settle({ seconds: 600, points: 70 })
  assert.equal(await left(admit(), 'points'), '0')
  await clock.advance(60_000)
  assert.equal(await left(admit(), 'points'), '40', 'the debt is paid first')
  const second = charged(await ticket.charge({ seconds: 600, points: 30 }))
  second.refund()
  second.refund()
  assert.equal(await left(admit(), 'points'), '40')
})

test('a request without limits costs nothing', async () => {
  const { admit } = setUp({ base: { system: [limit('requests', 100)] } })
  const { ticket } = await admit()
  charged(await ticket.charge({ seconds: 1e9, points: 1e9 }))
  charged(await ticket.chargeForwarded())
})

test('a request is charged a flat cost for being passed on, but not on top of a query', async () => {
  const { admit } = setUp()
  const { ticket } = await admit()
  charged(await ticket.charge({ seconds: 100, points: 10 }))
  charged(await ticket.chargeForwarded())
  assert.equal(await left(admit(), 'cost'), '900')
  const { ticket: other } = await admit('b')
  charged(await other.charge({ seconds: 100, points: 10 })).refund()
  charged(await other.chargeForwarded())
  assert.equal(await left(admit('b'), 'cost'), '940')
})

test('a backend has its own limits where it is given some', async () => {
  const system = [limit('requests', 3)]
  const { admit } = setUp({ base: { system, resources: new Map([['main', [limit('requests', 9)]]]) } })
  assert.equal(await left(admit(), 'requests'), '8')
})

test('while the store is down requests pass uncounted', async () => {
  let isDown = true
  const { quota, admit } = setUp({}, (cells) => farCells(cells, () => isDown))
  for (let i = 0; i < 10; i++) assert.equal((await admit()).refusal, undefined)
  assert.deepEqual((await admit()).ticket.fields, [])
  assert.deepEqual([quota.counts.permits, quota.counts.degraded], [11, 11])
  isDown = false
  assert.equal(await left(admit('b'), 'requests'), '2')
  assert.equal(quota.counts.degraded, 11)
})

test('while the store is down requests are blocked where that is wanted', async () => {
  const { admit } = setUp({ onUnavailable: 'block' }, (cells) => farCells(cells, () => true))
  assert.equal((await admit()).refusal?.cause, 'unavailable')
})

test('tokens that are counted elsewhere are taken one by one all the same', async () => {
  const { admit } = setUp({}, farCells)
  const admissions = await Promise.all(Array.from({ length: 10 }, () => admit()))
  assert.equal(admissions.filter(({ refusal }) => refusal === undefined).length, 3)
})

test('a dry run counts refusals by limit, and logs them every ten seconds', async () => {
  const { clock, quota, admit, state } = setUp({ isDryRun: true })
  for (let i = 0; i < 5; i++) assert.equal((await admit()).refusal, undefined)
  const { ticket } = await admit()
  charged(await ticket.charge({ seconds: 2000, points: 1 })).refund()
  assert.deepEqual(quota.counts.dryRun, { requests: 3, cost: 1, points: 0 })
  assert.deepEqual(quota.counts.refused, { requests: 0, cost: 0, points: 0 })
  assert.deepEqual(state.logged, ['quotas of main: would have refused 1 so far (dry run)'])
  await clock.advance(1000)
  for (let i = 0; i < 2; i++) await admit()
  await clock.advance(9000)
  for (let i = 0; i < 20; i++) await admit()
  assert.equal(state.logged.length, 2)
})

test('a stale answer is preferred where that is wanted, unless the store is down', async () => {
  const { admit } = setUp({ servesStale: true })
  const refused = await (await admit()).ticket.charge({ seconds: 2000, points: 1 })
  assert.ok('refusal' in refused && refused.servesStale && refused.refusal.cause === 'never')
})

test('terms that a reload brings count from the next request on', async () => {
  const { quota, admit, state } = setUp()
  for (let i = 0; i < 3; i++) await admit()
  assert.equal((await admit()).refusal?.cause, 'exceeded')
  state.terms = { ...usual, base: { system: [limit('requests', 30)] } }
  await admit()
  state.terms = undefined
  assert.equal(quota.isActive, false)
})

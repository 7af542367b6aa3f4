import assert from 'node:assert/strict'
import test from 'node:test'
import { Budget } from '../../core/budget.ts'
import { Arrivals } from './arrivals.ts'

function setUp(limit = 8000, largest = 0) {
  const budget = new Budget(limit)
  const arrivals = new Arrivals(budget, largest)
  const givenUp: string[] = []
  const begin = (name: string) => arrivals.begin(() => givenUp.push(name))
  return { budget, begin, givenUp }
}

test('the received bytes of a request are in the budget until it ends', () => {
  const { budget, begin } = setUp()
  const one = begin('one')
  assert.ok(one.grow(300))
  assert.ok(one.grow(300))
  assert.equal(budget.used, 600)
  one.end()
  one.end()
  assert.equal(budget.used, 0)
})

test('beyond an eighth of the budget the largest are given up, and their memory is released', () => {
  const { budget, begin, givenUp } = setUp(8000)
  const [small, large, other] = [begin('small'), begin('large'), begin('other')]
  assert.ok(small.grow(10))
  assert.ok(large.grow(600))
  assert.ok(other.grow(400))
  assert.deepEqual(givenUp, ['large'])
  assert.equal(budget.used, 410)
  // It may be the one that grows.
  assert.ok(!other.grow(700))
  assert.deepEqual(givenUp, ['large', 'other'])
  assert.equal(budget.used, 10)
})

test('one request of the largest permitted size fits, up to a quarter of the budget', () => {
  assert.ok(setUp(8000, 1900).begin('a').grow(1900))
  assert.ok(!setUp(8000, 3000).begin('a').grow(2100))
})

test('a budget without room takes nothing more, and no request is rejected for it', () => {
  const { budget, begin, givenUp } = setUp(8000)
  budget.reserve(7900)
  const one = begin('one')
  assert.ok(!one.grow(200))
  assert.deepEqual(givenUp, [])
  assert.equal(budget.used, 7900)
})

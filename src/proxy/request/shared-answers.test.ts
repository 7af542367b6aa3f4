import assert from 'node:assert/strict'
import test from 'node:test'
import { Budget } from '../../core/budget.ts'
import { ScratchPool, writeOut } from '../../core/scratch.ts'
import { SharedAnswers } from './shared-answers.ts'

/** As long as the buffer that it is written into. */
const length = 4096

function setUp(limit = 6000) {
  const budget = new Budget(limit)
  const shared = new SharedAnswers(budget)
  const options = { budget, scratch: new ScratchPool() }
  const use = (name: string) => shared.use(name, () => writeOut(options, length, () => length))
  return { budget, shared, use }
}

test('one answer for several clients is written once, and released with the last of them', () => {
  const { budget, use } = setUp()
  const [one, two] = [use('a')!, use('a')!]
  assert.equal(one.bytes, two.bytes)
  assert.equal(budget.used, length)
  one.release()
  assert.equal(budget.used, length)
  two.release()
  assert.equal(budget.used, 0)
  const three = use('a')!
  assert.equal(budget.used, length)
  three.release()
})

test('another answer has bytes of its own; none without room', () => {
  const { budget, use } = setUp()
  use('a')
  assert.equal(use('b'), undefined)
  assert.equal(budget.used, length)
})

test('memory of others is counted once, however many answers are sent from it', () => {
  const { budget, shared } = setUp()
  const [pane, head, huge] = [new ArrayBuffer(500), new ArrayBuffer(10), new ArrayBuffer(5900)]
  assert.ok(shared.hold([head, pane]))
  assert.ok(shared.hold([pane]))
  assert.equal(budget.used, 510)
  assert.ok(!shared.hold([head, huge]))
  assert.equal(budget.used, 510)
  shared.release([pane])
  assert.equal(budget.used, 510)
  shared.release([head, pane])
  assert.equal(budget.used, 0)
})

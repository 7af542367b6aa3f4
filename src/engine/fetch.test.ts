/** What the results of queries show about the database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig } from '../../test/rigs/engine-rig.ts'
import { isDownAfter } from './fetch.ts'
import type { BrokenReason } from './ports.ts'

const failed = (reason: BrokenReason, wasDown: boolean): boolean =>
  isDownAfter({ kind: 'broken', reason, detail: '' }, wasDown)

test('a database is down after a query without an answer, and up after any answer, an error too', () => {
  for (const wasDown of [false, true]) {
    for (const reason of ['database_unreachable', 'database_timeout'] as const) {
      assert.equal(failed(reason, wasDown), true)
    }
    assert.equal(failed('database_error', wasDown), false)
    for (const kind of ['panes', 'answer', 'refused', 'unusable'] as const) {
      assert.equal(isDownAfter({ kind }, wasDown), false)
    }
  }
})

test('a query that was not sent, or not waited for, shows nothing', () => {
  for (const wasDown of [false, true]) {
    assert.equal(failed('queue_full', wasDown), wasDown)
    assert.equal(isDownAfter({ kind: 'abandoned' }, wasDown), wasDown)
  }
})

test('a query whose backend or connection throws is forwarded, also where it was claimed or paid for first', async () => {
  const soon = Promise.resolve()
  const claims = { claim: () => ({ verdict: soon.then(() => 'go' as const), release() {} }) }
  const meter = { charge: () => soon.then(() => ({ settle() {}, refund() {} })) }
  for (const options of [{}, { claims }]) {
    for (const how of [{}, { meter }]) {
      const rig = new EngineRig(options)
      rig.database.send = () => {
        throw new Error('a fault of the backend')
      }
      const { answer } = await rig.ask(30, undefined, how)
      const detail = 'Error: a fault of the backend'
      assert.deepEqual(answer, { kind: 'forward', reason: 'unusable_answer', detail })
      assert.equal(rig.budget.used, 0)
    }
  }
})

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Plan } from '../backend.ts'
import { cancelledAnswer, cancels, isCancellation, ownHeaders } from './ids.ts'

test('a DELETE below the query path cancels the query of that id', () => {
  assert.equal(cancels('DELETE', '/druid/v2/abc'), 'abc')
  assert.equal(cancels('DELETE', '/druid/v2/sql/abc'), 'abc')
  assert.equal(cancels('DELETE', '/druid/v2/a%20b'), 'a b')
  assert.equal(cancels('DELETE', '/druid/v2/a%zz'), undefined)
  assert.equal(cancels('DELETE', '/druid/v2/'), undefined)
  assert.equal(cancels('DELETE', '/druid/v2/sql/statements/x'), undefined)
  assert.equal(cancels('POST', '/druid/v2/abc'), undefined)
})

const planOf = (path: string, queryId?: string) => ({ queryId, request: { path } }) as Plan

test('an answer names the id that the client gave, or a new one', () => {
  const newId = () => 'new'
  assert.deepEqual(ownHeaders(planOf('/druid/v2', 'mine'), newId), ['X-Druid-Query-Id', 'mine'])
  assert.deepEqual(ownHeaders(planOf('/druid/v2/'), newId), ['X-Druid-Query-Id', 'new'])
  assert.deepEqual(ownHeaders(planOf('/druid/v2/', ''), newId), ['X-Druid-Query-Id', 'new'])
  assert.deepEqual(ownHeaders(planOf('/druid/v2/sql'), newId), [
    ...['X-Druid-Query-Id', 'new', 'X-Druid-SQL-Query-Id', 'new'],
  ])
})

test('the client of a cancelled query gets Druid’s answer', () => {
  const { status, body } = cancelledAnswer(planOf('/druid/v2', 'mine'))
  assert.equal(status, 500)
  assert.equal((JSON.parse(body) as { error: string }).error, 'Query cancelled')
  assert.equal(isCancellation(status, Buffer.from(body)), true)
  assert.equal(isCancellation(504, Buffer.from('{"error":"Query timeout"}')), false)
  assert.equal(isCancellation(500, Buffer.from('{"error":"Unknown exception"}')), false)
  assert.equal(isCancellation(500, new Uint8Array()), false)
})

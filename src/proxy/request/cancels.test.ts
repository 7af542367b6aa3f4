import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cancellation } from '../../backends/backend.ts'
import type { Identity } from '../../engine/http/identity.ts'
import { Cancels } from './cancels.ts'
import type { Outgoing } from './outgoing.ts'

const cancellation: Cancellation = {
  cancels: (method, path) => (method === 'DELETE' ? path.slice(1) : undefined),
  cancelledAnswer: () => ({ status: 500, contentType: 'text/plain', body: 'cancelled' }),
  isCancellation: () => false,
}

/** A query under way, whose flight goes by `flight`. */
interface Query {
  readonly id: string
  readonly flight?: string
  readonly user?: string
  readonly headers?: readonly string[]
  readonly identity?: Identity
  readonly isForwarded?: boolean
}

function scene() {
  const asked: string[] = []
  const cancelled: string[] = []
  const cancels = new Cancels({ cancellation }, { isAsking: (id) => asked.includes(id) })
  const ask = (name: string, { id, flight, user = '', isForwarded = false, ...query }: Query): Outgoing => {
    if (flight !== undefined && !asked.includes(flight)) asked.push(flight)
    const outgoing = {
      plan: { queryId: id },
      wire: { headers: query.headers ?? ['authorization', user] },
      isForwarded,
      cancel: () => void cancelled.push(name),
    } as unknown as Outgoing
    cancels.note(outgoing, query.identity ?? 'separate')
    return outgoing
  }
  const cancel = (id: string, user = '', headers: readonly string[] = ['authorization', user]): boolean =>
    cancels.isSettledHere({ method: 'DELETE', path: `/${id}`, search: '', headers })
  return { asked, cancelled, cancels, ask, cancel }
}

test('a query that others wait for is cancelled here alone', () => {
  const { cancelled, ask, cancel } = scene()
  ask('a', { id: 'x', flight: 'x' })
  assert.equal(cancel('x'), true)
  assert.deepEqual(cancelled, ['a'])
})

test('a query that is no longer in progress under such an id: the cancel request is forwarded', () => {
  const { asked, ask, cancel } = scene()
  const outgoing = ask('a', { id: 'x', flight: 'x' })
  outgoing.cancel = () => void asked.pop()
  assert.equal(cancel('x'), false)
})

test('all queries of one id are cancelled, as the database does it', () => {
  const { cancelled, cancels, ask, cancel } = scene()
  ask('a', { id: 'x', flight: 'x' })
  const b = ask('b', { id: 'x', flight: 'x' })
  ask('c', { id: 'x', flight: 'x' })
  cancels.forget(b)
  cancel('x')
  assert.deepEqual(cancelled, ['a', 'c'])
})

test('a waiter for a query under another id need not be cancelled there', () => {
  const { cancelled, ask, cancel } = scene()
  ask('a', { id: 'x', flight: 'y' })
  assert.equal(cancel('x'), true)
  assert.deepEqual(cancelled, ['a'])
})

test('a request that is forwarded, unknown, over, or of another client is for the database', () => {
  const { cancelled, cancels, ask, cancel } = scene()
  ask('forwarded', { id: 'f', isForwarded: true })
  ask('waiting', { id: 'f', flight: 'f' })
  assert.equal(cancel('f'), false)
  assert.equal(cancel('unknown'), false)
  cancels.forget(ask('over', { id: 'o', flight: 'o' }))
  assert.equal(cancel('o'), false)
  ask('mine', { id: 'x', flight: 'x', user: 'me' })
  assert.equal(cancel('x', 'you'), false)
  assert.deepEqual(cancelled, ['forwarded', 'waiting'])
})

test('any header that identifies the client keeps others from cancelling', () => {
  for (const name of [
    'x-forwarded-user',
    'x-auth-request-email',
    'x-api-key',
    'x-scope-orgid',
    'x-ssl-client-dn',
  ]) {
    const { cancelled, ask, cancel } = scene()
    ask('mine', { id: 'x', flight: 'x', headers: [name, 'me'] })
    assert.equal(cancel('x', '', [name, 'you']), false, name)
    assert.equal(cancel('x', '', []), false, name)
    assert.deepEqual(cancelled, [], name)
    assert.equal(cancel('x', '', ['accept', '*/*', name, 'me']), true, name)
    assert.deepEqual(cancelled, ['mine'], name)
  }
})

test('clients that share answers may not cancel for others; equal credentials may not in another partition', () => {
  for (const identity of ['shared', 'user', { headers: ['x-team'] }] as const) {
    const { cancelled, ask, cancel } = scene()
    const headers = ['x-team', 'a', 'x-grafana-user', 'ann', 'authorization', 'me']
    ask('mine', { id: 'x', flight: 'x', identity, headers })
    assert.equal(cancel('x', '', ['x-team', 'a', 'x-grafana-user', 'ann', 'authorization', 'you']), false)
    if (typeof identity === 'object')
      assert.equal(cancel('x', '', ['x-team', 'b', ...headers.slice(2)]), false)
    assert.deepEqual(cancelled, [])
    assert.equal(cancel('x', '', headers), true)
    assert.deepEqual(cancelled, ['mine'])
  }
})

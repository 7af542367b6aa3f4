import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cancellation } from '../../backends/backend.ts'
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
  readonly isForwarded?: boolean
}

function scene() {
  const asked: string[] = []
  const cancelled: string[] = []
  const cancels = new Cancels({ cancellation }, { isAsking: (id) => asked.includes(id) })
  const ask = (name: string, { id, flight, user = '', isForwarded = false }: Query): Outgoing => {
    if (flight !== undefined && !asked.includes(flight)) asked.push(flight)
    const outgoing = {
      plan: { queryId: id },
      wire: { headers: ['authorization', user] },
      isForwarded,
      cancel: () => void cancelled.push(name),
    } as unknown as Outgoing
    cancels.note(outgoing)
    return outgoing
  }
  const cancel = (id: string, user = ''): boolean =>
    cancels.isSettledHere({ method: 'DELETE', path: `/${id}`, search: '', headers: ['authorization', user] })
  return { asked, cancelled, cancels, ask, cancel }
}

test('a query that others wait for is cancelled here alone', () => {
  const { cancelled, ask, cancel } = scene()
  ask('a', { id: 'x', flight: 'x' })
  assert.equal(cancel('x'), true)
  assert.deepEqual(cancelled, ['a'])
})

test('one that the database is asked for under no such id any more: the database is told', () => {
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

test('who waits for what was asked for under another id need not be cancelled there', () => {
  const { cancelled, ask, cancel } = scene()
  ask('a', { id: 'x', flight: 'y' })
  assert.equal(cancel('x'), true)
  assert.deepEqual(cancelled, ['a'])
})

test('what is passed on, unknown, over, or of somebody else is for the database', () => {
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

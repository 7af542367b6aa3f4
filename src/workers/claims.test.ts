/** Claims of threads where other nodes fetch for the same store: the main thread claims with them on behalf of its threads. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Claim, Claims, FlightEnd, Verdict, Wanted } from '../engine/claims.ts'
import { ClaimTable, type FromClaimTable } from './claims.ts'

const wanted: Wanted = {
  ...{ key: 'k', intervals: [{ from: 0, to: 10 }], startedAt: 5, newestSeen: Number.NEGATIVE_INFINITY },
  ...{ notBefore: Number.NEGATIVE_INFINITY, marks: [], edges: undefined, along: 0, takesSeveral: false },
  isImpatient: false,
}

/** Other nodes, as one claim: it is decided and released by the test. */
class Outside implements Claims {
  readonly claimed: Wanted[] = []
  readonly released: FlightEnd[] = []
  decide!: (verdict: Verdict) => void

  claim(what: Wanted): Claim {
    this.claimed.push(what)
    const verdict = new Promise<Verdict>((resolve) => {
      this.decide = resolve
    })
    return { verdict, release: (end) => void this.released.push(end) }
  }
}

function tableWith(outside: Outside) {
  const sent: [thread: number, FromClaimTable][] = []
  const table = new ClaimTable({
    send: (thread, message) => void sent.push([thread, message]),
    isNews: () => false,
    outer: (store) => (store === 'shared' ? outside : undefined),
  })
  const claim = (thread: number, store = 'shared') =>
    table.receive(thread, { kind: 'claim', claim: 1, store, wanted, seen: 0 })
  return { table, sent, claim }
}

test('a thread goes when no other node fetches, and its release states whether it stored', async () => {
  const outside = new Outside()
  const { table, sent, claim } = tableWith(outside)
  claim(1)
  assert.deepEqual(sent, [])
  outside.decide('go')
  await Promise.resolve()
  assert.deepEqual(sent, [[1, { kind: 'claimed', claim: 1, verdict: 'go' }]])
  table.receive(1, { kind: 'release', claim: 1, end: 'stored' })
  assert.deepEqual(outside.released, ['stored'])
})

for (const verdict of [{ acceptFrom: 3 }, { acceptFrom: 3, isInVain: true }, {}])
  test(`one thread claims with other nodes for all: equal requests learn ${JSON.stringify(verdict)}, too`, async () => {
    const outside = new Outside()
    const { table, sent, claim } = tableWith(outside)
    claim(1)
    claim(2)
    assert.equal(outside.claimed.length, 1)
    outside.decide(verdict)
    await Promise.resolve()
    assert.deepEqual(sent, [[1, { kind: 'claimed', claim: 1, verdict }]])
    table.receive(1, { kind: 'release', claim: 1, end: 'abandoned' })
    assert.deepEqual(sent.at(-1), [2, { kind: 'claimed', claim: 1, verdict }])
  })

test('threads that waited for a fetch that brought nothing are told so', () => {
  const { table, sent, claim } = tableWith(new Outside())
  for (const thread of [1, 2, 3]) claim(thread, '')
  table.receive(1, { kind: 'release', claim: 1, end: 'unstored' })
  const told = { kind: 'claimed', claim: 1, verdict: { acceptFrom: 5, isInVain: true } }
  assert.deepEqual(sent.slice(1), [
    [2, told],
    [3, told],
  ])
})

test('a thread that ends releases its claims with other nodes', () => {
  const outside = new Outside()
  const { table, claim } = tableWith(outside)
  claim(1)
  table.close(1)
  assert.deepEqual(outside.released, ['abandoned'])
})

test('memory alone is claimed with no other node', () => {
  const outside = new Outside()
  const { sent, claim } = tableWith(outside)
  claim(1, '')
  assert.equal(outside.claimed.length, 0)
  assert.deepEqual(sent, [[1, { kind: 'claimed', claim: 1, verdict: 'go' }]])
})

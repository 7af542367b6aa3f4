/** The cost of claims between nodes to the store, and their result where it fails. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cells } from '../stores/cells.ts'
import { memoryCells } from '../stores/memory/cells.ts'
import { type FakeClock, fakeClock } from '../testing/fake-clock.ts'
import { CellClaims, usualLeaseMs } from './cell-claims.ts'
import type { Claim, Verdict, Wanted } from './claims.ts'

class Nodes {
  readonly clock: FakeClock = fakeClock()
  readonly counts = { gets: 0, puts: 0, largest: 0 }
  /** The next write is done, but its answer is lost. */
  losesNext = false
  /** A lying store: every write fails as if the row had changed. */
  refusesAll = false
  isDown = false
  readonly #claims: readonly CellClaims[]

  constructor(count: number) {
    const options = { cells: this.#counting(memoryCells({ clock: this.clock })), clock: this.clock }
    const share = async () => true
    this.#claims = Array.from({ length: count }, () => new CellClaims({ ...options, timeoutMs: 250, share }))
  }

  /** Of five buckets of one key. */
  claim(node: number, from = 0): Claim {
    const wanted: Wanted = {
      ...{
        key: 'k',
        intervals: [{ from, to: from + 5 }],
        edges: undefined,
        along: 0,
        marks: [],
        takesSeveral: false,
        isImpatient: false,
      },
      ...{ startedAt: this.clock.now(), notBefore: Number.NEGATIVE_INFINITY },
      newestSeen: this.clock.now(),
    }
    return this.#claims[node]!.claim(wanted)
  }

  /** A node fetches for a while, and all others wait for it from the start. Returns how long they did. */
  async fetch(ms: number, holder = 0): Promise<readonly number[]> {
    const claim = this.claim(holder)
    assert.equal(await claim.verdict, 'go')
    const began = this.clock.now()
    const waits = this.#claims.flatMap((_, node) => (node === holder ? [] : [this.claim(node)]))
    const ends = waits.map(async ({ verdict }) => {
      await verdict
      return this.clock.now() - began
    })
    await this.clock.advance(ms)
    claim.release('stored')
    await this.clock.advance(ms + 2000)
    return Promise.all(ends)
  }

  #counting(cells: Cells): Cells {
    const { counts } = this
    return {
      name: cells.name,
      capabilities: cells.capabilities,
      get: async (id, v) => {
        counts.gets++
        if (this.isDown) throw new Error('the connection was lost')
        return cells.get(id, v)
      },
      put: async (id, draft, condition) => {
        counts.puts++
        counts.largest = Math.max(counts.largest, draft.value.length)
        if (this.refusesAll)
          return { ok: false, reason: 'condition', current: (await cells.get(id, draft.v))! }
        const outcome = await cells.put(id, draft, condition)
        if (!this.losesNext) return outcome
        this.losesNext = false
        throw new Error('the connection was lost')
      },
      list: (pk, v) => cells.list(pk, v),
      take: (id, take) => cells.take(id, take),
      remove: async (id, condition) => cells.remove(id, condition),
      publish: (changes) => cells.publish(changes),
      close: () => cells.close(),
    }
  }
}

test('a fetch without waiters costs one read and two writes of its row', async () => {
  const nodes = new Nodes(1)
  for (let i = 0; i < 10; i++) {
    await nodes.fetch(300)
    await nodes.clock.advance(5000)
  }
  assert.deepEqual([nodes.counts.gets, nodes.counts.puts], [10, 20])
})

for (const ms of [150, 1500, 8000]) {
  test(`a node that waits ${ms} ms for another one reads its row at most six times, and waits at most a fifth longer`, async () => {
    const nodes = new Nodes(9)
    // From then on every node knows that others use the shape, and how long a fetch takes.
    await nodes.fetch(ms)
    await nodes.fetch(ms, 1)
    Object.assign(nodes.counts, { gets: 0, puts: 0 })
    const waits = await nodes.fetch(ms)
    // The lease of a long fetch is renewed every fifth of it: one read and one write.
    const renewals = Math.floor((5 * ms) / usualLeaseMs)
    assert.ok(nodes.counts.gets <= 1 + renewals + 8 * 6, `${nodes.counts.gets} reads`)
    assert.equal(nodes.counts.puts, 2 + renewals)
    for (const wait of waits) assert.ok(wait >= ms && wait <= 1.2 * ms + 10, `${wait} ms`)
  })
}

test('a row stays below a kilobyte, whichever nodes fetch how often', async () => {
  const nodes = new Nodes(8)
  for (let i = 0; i < 40; i++) {
    await nodes.fetch(100, i % 8)
    await nodes.clock.advance(3000)
  }
  assert.ok(nodes.counts.largest < 1024, `${nodes.counts.largest} bytes`)
})

test('a claim whose answer was lost ends with its fetch: others do not wait until its lease has run out', async () => {
  const nodes = new Nodes(2)
  nodes.losesNext = true
  const lost = nodes.claim(0)
  assert.equal(await lost.verdict, 'go')
  let verdict: Verdict | undefined
  void nodes.claim(1).verdict.then((is) => {
    verdict = is
  })
  await nodes.clock.advance(500)
  assert.equal(verdict, undefined)
  lost.release('stored')
  await nodes.clock.advance(500)
  assert.notEqual(verdict, undefined)
})

test('a claim that is released while its row is read for the first time is not written', async () => {
  const nodes = new Nodes(1)
  nodes.claim(0).release('abandoned')
  await nodes.clock.advance(500)
  assert.deepEqual([nodes.counts.gets, nodes.counts.puts], [1, 0])
})

for (const [successor, where] of ['the same node', 'another node'].entries())
  test(`a holder whose lease ran out does not end the flight of ${where} that took its place`, async () => {
    const nodes = new Nodes(3)
    const verdicts: Record<string, Verdict> = {}
    const claim = (name: string, node: number): Claim => {
      const claimed = nodes.claim(node)
      void claimed.verdict.then((verdict) => {
        verdicts[name] = verdict
      })
      return claimed
    }
    const expired = claim('expired', 0)
    await nodes.clock.advance(500)
    nodes.isDown = true
    await nodes.clock.advance(usualLeaseMs)
    nodes.isDown = false
    const current = claim('current', successor)
    await nodes.clock.advance(500)
    claim('waiting', 2)
    await nodes.clock.advance(500)
    expired.release('stored')
    await nodes.clock.advance(2000)
    assert.deepEqual(verdicts, { expired: 'go', current: 'go' })
    current.release('stored')
    await nodes.clock.advance(2000)
    assert.ok('waiting' in verdicts)
  })

test('of two flights of one node, the landing of one does not end the other', async () => {
  const nodes = new Nodes(2)
  const flights = [0, 100].map((from) => nodes.claim(0, from))
  await nodes.clock.advance(500)
  const ended: number[] = []
  for (const from of [0, 100]) void nodes.claim(1, from).verdict.then(() => ended.push(from))
  await nodes.clock.advance(500)
  assert.deepEqual(ended, [])
  flights[0]!.release('stored')
  await nodes.clock.advance(2000)
  assert.deepEqual(ended, [0])
  flights[1]!.release('stored')
  await nodes.clock.advance(2000)
  assert.deepEqual(ended, [0, 100])
})

test('a landing whose answer was lost, or that failed, is written again', async () => {
  const nodes = new Nodes(2)
  const claim = nodes.claim(0)
  assert.equal(await claim.verdict, 'go')
  let verdict: Verdict | undefined
  void nodes.claim(1).verdict.then((is) => {
    verdict = is
  })
  await nodes.clock.advance(500)
  nodes.losesNext = true
  claim.release('stored')
  await nodes.clock.advance(500)
  assert.notEqual(verdict, undefined)
})

test('a store that refuses to change a row that is unchanged is not asked again and again', async () => {
  const nodes = new Nodes(1)
  const claim = nodes.claim(0)
  assert.equal(await claim.verdict, 'go')
  nodes.refusesAll = true
  nodes.counts.puts = 0
  claim.release('stored')
  await nodes.clock.advance(2 * usualLeaseMs)
  assert.equal(nodes.counts.puts, 4)
})

test('flights of one key that land at the same moment, on however many nodes, end the waits for them', async () => {
  const holders = 12
  const nodes = new Nodes(holders + 1)
  const claims: Claim[] = []
  for (let node = 0; node < holders; node++) {
    claims.push(nodes.claim(node, 100 * node))
    assert.equal(await claims[node]!.verdict, 'go')
  }
  let waiting = holders
  for (let node = 0; node < holders; node++)
    void nodes.claim(holders, 100 * node).verdict.then(() => waiting--)
  await nodes.clock.advance(500)
  assert.equal(waiting, holders)
  for (const claim of claims) claim.release('stored')
  await nodes.clock.advance(500)
  assert.equal(waiting, 0)
})

/** Evidence of several nodes in one store: every observation counts once, whoever ends, restarts or cannot reach the store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Cells } from '../../stores/cells.ts'
import { memoryCells } from '../../stores/memory/cells.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import type { EvidenceRow } from '../../ttl/learned/learner.ts'
import { evidenceRoundMs, SharedEvidence } from './shared-evidence.ts'

type Level = EvidenceRow['level']

/** A learner that forgets nothing, so that sums can be compared exactly. */
class Ledger {
  readonly #clock: FakeClock
  readonly #own = new Map<string, EvidenceRow>()
  foreign: readonly EvidenceRow[] = []

  constructor(clock: FakeClock) {
    this.#clock = clock
  }

  see(name: string, changes = 1, level: Level = 'source'): void {
    this.adopt([{ level, name, at: this.#clock.now(), sums: Float64Array.of(0, changes, 0, 0) }])
  }

  own(): readonly EvidenceRow[] {
    const at = this.#clock.now()
    return [...this.#own.values()].map((row) => ({ ...row, at, sums: row.sums.slice() }))
  }

  setForeign(rows: readonly EvidenceRow[]): void {
    this.foreign = rows
  }

  adopt(rows: readonly EvidenceRow[]): void {
    for (const row of rows) {
      const id = `${row.level} ${row.name}`
      const sums = this.#own.get(id)?.sums ?? new Float64Array(row.sums.length)
      this.#own.set(id, { ...row, sums: sums.map((sum, i) => sum + row.sums[i]!) })
    }
  }

  disown(rows: readonly EvidenceRow[]): void {
    this.adopt(rows.map((row) => ({ ...row, sums: row.sums.map((sum) => -sum) })))
  }

  get ownTotal(): number {
    return totalOf(this.own())
  }

  /** What its curves are made of. */
  get total(): number {
    return this.ownTotal + totalOf(this.foreign)
  }
}

const totalOf = (rows: readonly EvidenceRow[]): number => rows.reduce((sum, { sums }) => sum + sums[1]!, 0)

class Node {
  readonly ledger: Ledger
  readonly shared: SharedEvidence
  readonly cut: { isCut: boolean }

  constructor(clock: FakeClock, cells: Cells) {
    this.ledger = new Ledger(clock)
    this.cut = { isCut: false }
    this.shared = new SharedEvidence({
      ...{ clock, backend: 'main', learner: this.ledger },
      cells: severable(cells, this.cut),
    })
  }

  /** Nothing of it reaches the store from now on, and it does nothing more: it was killed. */
  async kill(): Promise<void> {
    this.cut.isCut = true
    await this.shared.close()
  }
}

/** Cells that fail while they are cut off. */
const severable = (cells: Cells, cut: { readonly isCut: boolean }): Cells =>
  new Proxy(cells, {
    get(target, name) {
      const member = Reflect.get(target, name, target) as unknown
      if (typeof member !== 'function') return member
      return (...given: readonly unknown[]) => {
        if (cut.isCut) throw new Error('the store cannot be reached')
        return (member as (...all: readonly unknown[]) => unknown).apply(target, [...given])
      }
    },
  })

function stand() {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const start = async () => {
    const node = new Node(clock, cells)
    await node.shared.load()
    return node
  }
  return { clock, cells, start }
}

/** With its jitter, a round is over after this long. */
const roundMs = 1.1 * evidenceRoundMs
const leaseMs = 4 * evidenceRoundMs

test('every node counts what all have seen, after at most two rounds', async () => {
  const { clock, start } = stand()
  const nodes = [await start(), await start(), await start()]
  for (const [i, { ledger }] of nodes.entries()) ledger.see('a', 10 ** i)
  nodes[0]!.ledger.see('b', 1000)
  await clock.advance(2 * roundMs)
  assert.deepEqual(
    nodes.map(({ ledger }) => [ledger.ownTotal, ledger.total]),
    [
      [1001, 1111],
      [10, 1111],
      [100, 1111],
    ],
  )
})

test('a node that ends in order leaves its evidence to its successor, which counts it at once', async () => {
  const { clock, start } = stand()
  const before = await start()
  before.ledger.see('a', 7)
  await before.shared.close()
  await clock.advance(1000)
  const after = await start()
  assert.equal(after.ledger.total, 7)
  await clock.advance(1)
  assert.deepEqual([after.ledger.ownTotal, after.ledger.foreign.length], [7, 0])
})

test('a node that was killed is counted as another one until its lease has run out, then adopted once', async () => {
  const { clock, start } = stand()
  const [one, two, three] = [await start(), await start(), await start()]
  three.ledger.see('a', 5)
  three.ledger.see('b', 6)
  await clock.advance(2 * roundMs)
  await three.kill()
  await clock.advance(roundMs)
  assert.deepEqual([one.ledger.total, two.ledger.total], [11, 11])
  await clock.advance(leaseMs + 2 * roundMs)
  assert.equal(one.ledger.ownTotal + two.ledger.ownTotal, 11)
  assert.deepEqual([one.ledger.total, two.ledger.total], [11, 11])
})

test('a node that was cut off for longer than its lease gives up what others have adopted', async () => {
  const { clock, start } = stand()
  const [one, two] = [await start(), await start()]
  one.ledger.see('a', 5)
  await clock.advance(2 * roundMs)
  one.cut.isCut = true
  one.ledger.see('a', 1)
  await clock.advance(leaseMs + 2 * roundMs)
  assert.deepEqual([one.ledger.total, two.ledger.ownTotal], [6, 5])
  one.cut.isCut = false
  await clock.advance(3 * roundMs)
  assert.deepEqual([one.ledger.ownTotal, two.ledger.ownTotal], [1, 5])
  assert.deepEqual([one.ledger.total, two.ledger.total], [6, 6])
})

test('an outage within the lease costs nothing but time', async () => {
  const { clock, start } = stand()
  const [one, two] = [await start(), await start()]
  one.ledger.see('a', 5)
  await clock.advance(2 * roundMs)
  one.cut.isCut = true
  two.cut.isCut = true
  one.ledger.see('a', 2)
  await clock.advance(2 * roundMs)
  assert.deepEqual([one.ledger.total, two.ledger.total], [7, 5])
  one.cut.isCut = false
  two.cut.isCut = false
  await clock.advance(2 * roundMs)
  assert.deepEqual([one.ledger.total, two.ledger.total], [7, 7])
})

test('rows that the store has lost are written again', async () => {
  const { clock, cells, start } = stand()
  const [one, two] = [await start(), await start()]
  one.ledger.see('a', 5)
  await clock.advance(2 * roundMs)
  for (const [sk] of await cells.list('evidence#main', 1)) {
    await cells.remove({ pk: 'evidence#main', sk }, { is: 'expired', deadline: 'freshUntil' })
  }
  await clock.advance(2 * roundMs)
  assert.deepEqual([one.ledger.ownTotal, two.ledger.total], [5, 5])
})

test('a store that does not answer does not hold up the end for long', async () => {
  const { clock, cells } = stand()
  const silent = Object.assign(Object.create(cells) as Cells, { list: () => new Promise<never>(() => {}) })
  const node = new Node(clock, silent)
  void node.shared.load()
  let isClosed = false
  void node.shared.close().then(() => {
    isClosed = true
  })
  await clock.advance(2000)
  assert.ok(isClosed)
  assert.equal(clock.pending, 0)
})

test('a node that has learned nothing writes nothing', async () => {
  const { clock, cells, start } = stand()
  const node = await start()
  await clock.advance(3 * roundMs)
  await node.shared.close()
  assert.deepEqual(await cells.list('evidence#main', 1), [])
})

const keyOfShape = (i: number): string => `shape-${i}-`.padEnd(43, '0')

test('rows with the most evidence are saved, and those that fall behind are removed', async () => {
  const { clock, cells, start } = stand()
  const { ledger, shared } = await start()
  for (let i = 1; i <= 200; i++) {
    ledger.see(keyOfShape(i), i, 'shape')
    ledger.see(`source ${i}`, i)
  }
  ledger.see('', 1, 'backend')
  ledger.see('', 1, 'staleness')
  const saved = async () =>
    (await cells.list('evidence#main', 1)).map(([, cell]) => cell.attributes?.['name'])
  await clock.advance(roundMs)
  assert.equal(shared.figures.own, 128 + 64 + 2)
  assert.ok((await saved()).includes(keyOfShape(73)) && !(await saved()).includes(keyOfShape(72)))
  ledger.see(keyOfShape(72), 1000, 'shape')
  await clock.advance(roundMs)
  assert.equal(shared.figures.own, 128 + 64 + 2)
  assert.ok((await saved()).includes(keyOfShape(72)) && !(await saved()).includes(keyOfShape(73)))
})

test('a row that has hardly changed is not written again', async () => {
  const { clock, cells, start } = stand()
  const { ledger } = await start()
  ledger.see('a', 1000)
  const revision = async () =>
    (await cells.list('evidence#main', 1)).find(([, { kind }]) => kind === 'evidence')?.[1].rev
  await clock.advance(roundMs)
  const first = await revision()
  ledger.see('a', 1)
  await clock.advance(roundMs)
  assert.equal(await revision(), first)
  ledger.see('a', 100)
  await clock.advance(roundMs)
  assert.notEqual(await revision(), first)
})

const histories = fc.array(
  fc.record({
    node: fc.nat(2),
    act: fc.constantFrom('see', 'see', 'close', 'kill', 'cut', 'mend'),
    name: fc.constantFrom('a', 'b', 'c'),
    thenMs: fc.integer({ min: 0, max: 3 * leaseMs }),
  }),
  { maxLength: 30 },
)

test('in no history is anything counted twice, and what was saved is never lost', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      const { clock, start } = stand()
      const nodes = [await start(), await start(), await start()]
      let seen = 0
      /** What only a node has that was killed before it could save. */
      let atRisk = 0
      for (const { node, act, name, thenMs } of history) {
        const { ledger, shared, cut } = nodes[node]!
        if (act === 'see') {
          ledger.see(name, 1)
          seen++
        } else if (act === 'cut' || act === 'mend') cut.isCut = act === 'cut'
        else {
          const isSafe = act === 'close' && !cut.isCut
          if (!isSafe) atRisk += ledger.ownTotal
          await (act === 'kill' ? nodes[node]!.kill() : shared.close())
          nodes[node] = await start()
        }
        await clock.advance(thenMs)
      }
      for (const { cut } of nodes) cut.isCut = false
      await clock.advance(leaseMs + 6 * roundMs)
      const [total] = nodes.map(({ ledger }) => ledger.total)
      for (const { ledger } of nodes) assert.ok(Math.abs(ledger.total - total!) < 0.01 * seen + 1e-9)
      assert.ok(
        total! <= seen + 1e-9 && total! >= seen - atRisk - 1e-9,
        `${total} of ${seen}, ${atRisk} at risk`,
      )
    }),
    { numRuns: 150 },
  )
})

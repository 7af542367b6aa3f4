/** Evidence of several nodes in one store, also where nodes end, restart or cannot reach it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evidenceRig, LedgerNode, leaseMs, roundMs } from '../../../test/rigs/evidence-rig.ts'
import type { Cells } from '../../stores/cells.ts'

test('every node counts the observations of all, after at most two rounds', async () => {
  const { clock, start } = evidenceRig()
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
  const { clock, start } = evidenceRig()
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
  const { clock, start } = evidenceRig()
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

test('a node that was cut off for longer than its lease drops the evidence that others have adopted', async () => {
  const { clock, start } = evidenceRig()
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
  const { clock, start } = evidenceRig()
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

test('evidence that could not be saved in a round is saved at the end', async () => {
  const { clock, start } = evidenceRig()
  const node = await start()
  node.ledger.see('a', 5)
  node.cut.isCut = true
  await clock.advance(roundMs)
  node.cut.isCut = false
  await node.shared.close()
  assert.equal((await start()).ledger.total, 5)
})

test('evidence whose saving failed is saved at the end', async () => {
  const { clock, cells, start } = evidenceRig()
  let isFailing = false
  const failing = Object.assign(Object.create(cells) as Cells, {
    ...{ capabilities: cells.capabilities, list: cells.list.bind(cells), get: cells.get.bind(cells) },
    put(...given: Parameters<Cells['put']>) {
      if (isFailing && given[1].kind === 'evidence') throw new Error('no answer in time')
      return cells.put(...given)
    },
  })
  const node = new LedgerNode(clock, failing)
  await node.shared.load()
  node.ledger.see('a', 5)
  isFailing = true
  await clock.advance(roundMs)
  isFailing = false
  await node.shared.close()
  assert.equal((await start()).ledger.total, 5)
})

test('rows that the store has lost are written again', async () => {
  const { clock, cells, start } = evidenceRig()
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
  const { clock, cells } = evidenceRig()
  const silent = Object.assign(Object.create(cells) as Cells, { list: () => new Promise<never>(() => {}) })
  const node = new LedgerNode(clock, silent)
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
  const { clock, cells, start } = evidenceRig()
  const node = await start()
  await clock.advance(3 * roundMs)
  await node.shared.close()
  assert.deepEqual(await cells.list('evidence#main', 1), [])
})

const keyOfShape = (i: number): string => `shape-${i}-`.padEnd(43, '0')

test('rows with the most evidence are saved, and rows that fall behind are removed', async () => {
  const { clock, cells, start } = evidenceRig()
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
  const { clock, cells, start } = evidenceRig()
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

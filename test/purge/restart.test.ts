/** Purged buckets and a store that outlives the process: neither a restart nor another process brings them back. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { LmdbStore } from '../../src/stores/lmdb/index.ts'
import type { Entry, Store } from '../../src/stores/store.ts'
import { type TieredStore, tieredStore } from '../../src/stores/tiered.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { EngineRig, minuteMs, type Served } from '../rigs/engine-rig.ts'
import { scratchDirectory, scratchStore } from '../stores/scratch.ts'

interface Process {
  readonly rig: EngineRig
  readonly lmdb: LmdbStore
  readonly tiers: TieredStore
  /** The entries written to the file, to be written again. */
  readonly written: (readonly [string, Entry])[]
  end(): Promise<void>
}

/** Memory before the file, as a process has them that was just started. */
async function begin(directory: string, clock: FakeClock): Promise<Process> {
  const lmdb = await scratchStore({ clock, directory })
  const written: (readonly [string, Entry])[] = []
  const far: Store = {
    ...{ name: lmdb.name, shapes: () => lmdb.shapes(), close: () => lmdb.close() },
    record: (key) => lmdb.record(key),
    read: (key, interval) => lmdb.read(key, interval),
    peek: (key, interval) => lmdb.peek!(key, interval),
    remove: (key, interval, fetchedUntil) => lmdb.remove(key, interval, fetchedUntil),
    write(key, entry) {
      written.push([key, entry])
      return lmdb.write(key, entry)
    },
  }
  let tiers: TieredStore | undefined
  const wrap = (near: Store): Store => {
    tiers = tieredStore({ clock, near, far })
    return tiers
  }
  const rig = new EngineRig({ clock, cells: lmdb.cells, wrap })
  await rig.marks.load()
  const end = async (): Promise<void> => {
    rig.marks.close()
    await tiers!.close()
  }
  return { rig, lmdb, tiers: tiers!, written, end }
}

const outcomeOf = ({ decision }: Served): string => `${decision.outcome}/${decision.reason ?? ''}`
const settledEnd = (rig: EngineRig): number => rig.openCell - 300 * minuteMs

/** Repeats the request until it is written to the file, and waits for that. */
async function fill({ rig, tiers, written }: Process): Promise<void> {
  for (let i = 0; i < 3; i++) await rig.ask(60, settledEnd(rig))
  await rig.clock.advance(0)
  await tiers.idle()
  assert.ok(written.length > 0)
}

test('without a purge a restart finds everything; after one, nothing', async () => {
  const [directory, clock] = [scratchDirectory(), fakeClock()]
  const first = await begin(directory, clock)
  await fill(first)
  await first.end()
  const second = await begin(directory, clock)
  assert.equal(outcomeOf(await second.rig.ask(60, settledEnd(second.rig))), 'hit/')
  await clock.advance(1)
  const { buckets, isKept } = await second.rig.purge.run({})
  assert.deepEqual([buckets, isKept], [60, true])
  await second.rig.purge.idle()
  await second.end()
  const third = await begin(directory, clock)
  assert.equal(outcomeOf(await third.rig.ask(60, settledEnd(third.rig))), 'miss/absent')
  await third.end()
})

test('a process that ends between the mark and the removal: the remaining buckets in the file are not used', async () => {
  const [directory, clock] = [scratchDirectory(), fakeClock()]
  const first = await begin(directory, clock)
  await fill(first)
  await clock.advance(1)
  const to = settledEnd(first.rig)
  const middle = { from: to - 20 * minuteMs, to: to - 10 * minuteMs }
  assert.ok(await first.rig.marks.add({ kind: 'purge', ...middle, at: clock.now() }))
  await first.end()
  await clock.advance(1)
  const second = await begin(directory, clock)
  const { decision, text } = await second.rig.ask(60, to)
  assert.deepEqual([decision.outcome, decision.reason, decision.asked], ['partial', 'purged', 10])
  assert.equal(text, second.rig.truth(60, to))
  assert.equal(outcomeOf(await second.rig.ask(60, to)), 'hit/')
  await second.end()
})

test('a fetch that was under way at the purge does not bring its buckets back, through the file and a restart', async () => {
  const [directory, clock] = [scratchDirectory(), fakeClock()]
  const first = await begin(directory, clock)
  const to = settledEnd(first.rig)
  await fill(first)
  await clock.advance(4_000_000)
  first.rig.database.lagMs = 1000
  const underWay = first.rig.ask(60, to)
  await clock.advance(500)
  await first.rig.purge.run({ backend: 'cells' })
  await first.rig.purge.idle()
  await clock.advance(500)
  assert.equal((await underWay).decision.outcome, 'miss')
  await first.tiers.idle()
  assert.equal(first.lmdb.read((await underWay).decision.key!, { from: -1e12, to: 1e12 }), undefined)
  // Another process, which had not seen the purge, writes the content of its memory.
  for (const [key, entry] of first.written) assert.ok(await first.lmdb.write(key, entry))
  await first.end()
  await clock.advance(1)
  const second = await begin(directory, clock)
  const look = await second.rig.ask(60, to)
  assert.deepEqual([look.decision.outcome, look.decision.reason], ['miss', 'purged'])
  assert.equal(look.text, second.rig.truth(60, to))
  await second.end()
})

test('two processes that share a file: a purge in one holds in the other within the poll', async () => {
  const [directory, clock] = [scratchDirectory(), fakeClock()]
  const one = await begin(directory, clock)
  const other = await begin(directory, clock)
  const to = settledEnd(one.rig)
  await fill(one)
  assert.equal(outcomeOf(await other.rig.ask(60, to)), 'hit/')
  await clock.advance(1)
  await one.rig.purge.run({ source: 'up' })
  await one.rig.purge.idle()
  assert.equal(outcomeOf(await other.rig.ask(60, to)), 'hit/', 'it cannot know yet')
  for (let i = 0; i < 10; i++) await clock.advance(100)
  assert.equal(outcomeOf(await other.rig.ask(60, to)), 'miss/purged')
  assert.equal(outcomeOf(await other.rig.ask(60, to)), 'hit/')
  await one.end()
  await other.end()
})

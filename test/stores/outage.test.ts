/** A far store that cannot be reached when the proxy starts, or goes away: it is used again once it is back. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Budget } from '../../src/core/budget.ts'
import type { Clock } from '../../src/core/clock.ts'
import { viewOfStore } from '../../src/proxy/admin/views.ts'
import { type FarStore, Tiers } from '../../src/proxy/assembly/tiers.ts'
import type { Cells } from '../../src/stores/cells.ts'
import { memoryCells } from '../../src/stores/memory/cells.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { Found, Store } from '../../src/stores/store.ts'
import type { Observer } from '../../src/telemetry/telemetry.ts'
import { asynchronous } from '../../src/testing/asynchronous.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { checkPane, entryOf, keyNumber } from './truth.ts'

const retentionMs = 86_400_000
const hour = { from: 0, to: 60 }
const key = keyNumber(1)

const memory = (clock: Clock): Store =>
  memoryStore({ clock, retentionMs, budget: new Budget(64 * 1024 * 1024), maxBucketsPerShape: 100_000 })

function rig() {
  const clock = fakeClock()
  const state = { isCut: true }
  const own = memoryCells({ clock })
  const cells: Cells = Object.assign(own, { capabilities: { ...own.capabilities, shared: true } })
  const inner = Object.assign(memory(clock), { cells })
  const panes = asynchronous(inner, { clock, isCut: () => state.isCut })
  const far: FarStore = {
    ...{ panes, cells: panes.cells!, engine: 'redis', timeoutMs: 250 },
    close: async () => panes.close(),
  }
  const farStores = new Map([['shared', far]])
  const said: string[] = []
  const log = {
    line() {},
    change: (topic: string, { is }: { is: string }) => void said.push(`${topic}: ${is}`),
  }
  const telemetry = { log, storeHook: () => () => {} } as unknown as Observer
  const tiers = new Tiers({ clock, memory: memory(clock), farStores, telemetry, retentionMs })
  const status = () => viewOfStore(tiers.figures()[1]!) as Record<string, unknown>
  return { clock, state, inner, tiers, store: tiers.of('shared'), status, said }
}

const bucketsIn = (found: Found | undefined): number =>
  (found?.panes ?? []).reduce((sum, pane) => sum + checkPane(1, pane), 0)

test('down at the start: the proxy starts, reports it, and uses the store as soon as it is there', async () => {
  const { clock, state, inner, tiers, store, status, said } = rig()
  inner.write(key, entryOf(1, hour, clock.now()))
  await tiers.loadMarks()
  assert.equal(bucketsIn(await store.read(key, hour)), 0)
  await clock.advance(60_000)
  const { name, engine, state: shown, detail } = status()
  assert.deepEqual([name, engine, shown], ['shared', 'redis', 'open'])
  assert.match(String(detail), /^The store failed .*the connection to the store was lost.* tried again/)
  assert.ok(!(store.read(key, hour) instanceof Promise), 'nobody waits')
  state.isCut = false
  await clock.advance(31_000)
  assert.deepEqual([status()['state'], status()['detail']], ['ok', 'It is used.'])
  assert.equal(bucketsIn(await store.read(key, hour)), 60)
  assert.deepEqual(said, ['store shared: is left alone', 'store shared: is used again'])
  await tiers.close()
})

test('claims and panes share one breaker: a failure of one opens it for both', async () => {
  const { clock, state, tiers, store } = rig()
  state.isCut = false
  await tiers.loadMarks()
  state.isCut = true
  const wanted = { key, intervals: [hour], startedAt: clock.now(), newestSeen: 0, isImpatient: false }
  const wish = { notBefore: 0, marks: [], edges: undefined, takesSeveral: false, along: 0 }
  const { claims } = tiers.partsOf(store)
  for (let i = 0; i < 5; i++) assert.equal(await claims!.claim({ ...wanted, ...wish }).verdict, 'go')
  assert.equal(tiers.leases().unavailable, 5)
  assert.ok(!(store.read(key, hour) instanceof Promise))
  const { breaker, failures } = tiers.figures()[1]!
  assert.deepEqual([breaker!.state, breaker!.transitions.open, failures], ['open', 1, 3])
  await tiers.close()
})

test('a store that could not be opened is missing, with a sentence that has the reason', () => {
  const clock = fakeClock()
  const gone: FarStore = { engine: 'lmdb', state: 'missing', trouble: 'busy', detail: 'it is in use' }
  const farStores = new Map([['disk', gone]])
  const tiers = new Tiers({ clock, memory: memory(clock), farStores, telemetry: undefined, retentionMs })
  assert.deepEqual(
    tiers.figures().map((store) => viewOfStore(store)),
    [
      {
        ...{ name: 'memory', engine: 'memory', state: 'ok', detail: 'It is used.' },
        ...{ entries: 0, bytes: 0, evictions: { memory: 0, expired: 0, surplus: 0 } },
      },
      { name: 'disk', engine: 'lmdb', state: 'missing', detail: 'it is in use', trouble: 'busy' },
    ],
  )
})

/** Processor time of this process per operation of a store, with a panel of 20 series: `npm run bench:capacity -- measure URL`. */
import { openStore } from '../../src/config/open-store.ts'
import { systemClock } from '../../src/core/clock.ts'
import { keyOf } from '../../src/core/key.ts'
import type { Pane } from '../../src/core/pane.ts'
import { PaneBuilder } from '../../src/core/pane-builder.ts'
import type { Cells } from '../../src/stores/cells.ts'
import type { OpenedStore } from '../../src/stores/kind.ts'
import { RowCells } from '../../src/stores/rows/row-cells.ts'
import { RowStore } from '../../src/stores/rows/row-store.ts'
import type { ShapeRecord } from '../../src/stores/store.ts'
import { MemoryCellEngine, MemoryRowEngine } from '../../test/rigs/memory-engines.ts'
import type { StoreCosts } from './costs.ts'

const clock = systemClock
const grid = { kind: 'cell', step: 60_000, origin: 0 } as const
const columns = 20
const windowBuckets = 180
const last = Math.floor(clock.now() / grid.step)
const window = { from: last - windowBuckets, to: last }
const tail = { from: last - 4, to: last }

const shape: ShapeRecord = {
  ...{ backend: 'bench', text: `capacity ${clock.now()}`, query: '', sources: [], knowsAllSources: true },
  ...{ lookbackMs: 0, identity: '', headers: [], grid },
}
const key = keyOf({ ...shape, shape: shape.text })

/** Without a URL it measures the rows of network stores over memory: the least cost of every such engine. */
export async function measureStore(url: string | undefined): Promise<StoreCosts> {
  const engine = new MemoryRowEngine()
  const { panes: store, cells, close } = url === undefined ? rowsOver(engine) : await openStore(url)
  await store.write(key, { pane: paneOf(window), shape })
  const windowStored = engine.written
  const writeUs = await microseconds(() => store.write(key, { pane: paneOf(tail), shape }))
  const costs = {
    writeUs: writeUs - (await microseconds(() => paneOf(tail))),
    tailReadUs: await microseconds(() => store.read(key, tail)),
    windowReadUs: await microseconds(() => store.read(key, window)),
    ...(await cellCosts(cells)),
    storedPerByte: url === undefined ? windowStored / slabOf(window).length : undefined,
  }
  await close()
  const rounded = Object.entries(costs).map(([name, cost]) => [
    name,
    cost === undefined ? null : Number(cost.toPrecision(3)),
  ])
  return Object.fromEntries(rounded) as StoreCosts
}

function rowsOver(engine: MemoryRowEngine): OpenedStore {
  const cells = new RowCells(new MemoryCellEngine(), clock)
  const panes = new RowStore({ engine, cells, clock, retentionMs: 86_400_000 })
  return { panes, cells, close: () => panes.close() }
}

async function cellCosts(
  cells: Cells | undefined,
): Promise<{ cellReadUs: number | undefined; cellWriteUs: number | undefined }> {
  if (cells === undefined) return { cellReadUs: undefined, cellWriteUs: undefined }
  const id = { pk: `capacity#${key}`, sk: 'row' }
  const draft = {
    kind: 'capacity',
    v: 1,
    clocks: {},
    collectAt: Math.ceil(clock.now() / 1000) + 600,
    value: Buffer.alloc(650),
  }
  const created = await cells.put(id, draft, { is: 'absent' })
  let rev = created.ok ? created.rev : ''
  const cellWriteUs = await microseconds(async () => {
    const outcome = await cells.put(id, draft, { is: 'revision', rev })
    if (outcome.ok) rev = outcome.rev
  })
  return { cellWriteUs, cellReadUs: await microseconds(() => cells.get(id, 1)) }
}

/** The best of several rounds: other load on the machine only adds to it. */
async function microseconds(action: () => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 10; round++) {
    const before = process.cpuUsage()
    for (let i = 0; i < 100; i++) await action()
    const { user, system } = process.cpuUsage(before)
    best = Math.min(best, (user + system) / 100)
  }
  return best
}

function slabOf({ from, to }: { from: number; to: number }): string {
  let slab = ''
  for (let column = 0; column < columns; column++)
    for (let bucket = from; bucket < to; bucket++) slab += pointOf(bucket, column)
  return slab
}

const pointOf = (bucket: number, column: number): string =>
  `[${(bucket * grid.step) / 1000},"${(50 + 50 * Math.sin(bucket / 9 + column)).toFixed(6)}"],`

function paneOf(interval: { from: number; to: number }): Pane {
  const builder = new PaneBuilder(1)
  let slab = ''
  for (let column = 0; column < columns; column++) {
    builder.beginColumn(slab.length, slab.length, Buffer.from(String(column).padStart(5, '0')))
    builder.beginLane(0)
    for (let bucket = interval.from; bucket < interval.to; bucket++) {
      builder.bucket(bucket - interval.from, slab.length)
      slab += pointOf(bucket, column)
    }
    builder.endLane(slab.length)
  }
  return builder.finish({ interval, fetchedAt: clock.now(), slab: Buffer.from(slab) })
}

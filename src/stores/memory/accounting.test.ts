/**
 * The store's own figure equals the memory that the process holds. Each case fills a store in a process of its own,
 * because only there nothing else moves the heap.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { promisify } from 'node:util'
import { Budget } from '../../core/budget.ts'
import { keyOf } from '../../core/key.ts'
import type { Pane } from '../../core/pane.ts'
import { PaneBuilder } from '../../core/pane-builder.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import type { ShapeRecord, Store } from '../store.ts'
import { memoryStore } from './index.ts'

interface Filling {
  readonly shapes: number
  readonly columns: number
  readonly buckets: number
  /** Further writes per shape, each of the next bucket and the eleven before it. */
  readonly rolls: number
}

const fillings: Readonly<Record<string, Filling>> = {
  'many small shapes': { shapes: 20_000, columns: 1, buckets: 5, rolls: 0 },
  'shapes of a dashboard': { shapes: 500, columns: 20, buckets: 240, rolls: 0 },
  'few large panes': { shapes: 8, columns: 500, buckets: 700, rolls: 0 },
  'one column, many buckets': { shapes: 200, columns: 1, buckets: 10_000, rolls: 0 },
  'rolling windows': { shapes: 250, columns: 40, buckets: 120, rolls: 30 },
}

/** A value and its instant as a database prints them, 25 bytes. */
const point = '[1767225600.123,"0.123"],'

function paneWith({ columns }: Filling, from: number, buckets: number): Pane {
  const builder = new PaneBuilder(2)
  let slab = ''
  for (let column = 0; column < columns; column++) {
    const name = String(column).padStart(6, '0')
    const start = slab.length
    slab += `{"metric":{"__name__":"http_requests_total","instance":"${name}"}`
    builder.beginColumn(start, slab.length, Buffer.from(`__name__\0http_requests_total\0instance\0${name}\0`))
    builder.beginLane(0)
    for (let bucket = 0; bucket < buckets; bucket++)
      builder.bucket(bucket, slab.length + bucket * point.length)
    slab += point.repeat(buckets)
    builder.endLane(slab.length)
  }
  const fetchedAt = Date.UTC(2026, 0, 1)
  return builder.finish({ interval: { from, to: from + buckets }, fetchedAt, slab: Buffer.from(slab) })
}

/** Every text is made anew, as texts of requests are. */
function shapeOf(shape: number): ShapeRecord {
  return {
    backend: 'prometheus',
    text: Buffer.from(`sum by (instance) (rate(http_requests_total{job="job-${shape}"}[5m]))`).toString(),
    query: Buffer.from(`sum by (instance) (rate(http_requests_total{job="job-${shape}"}[5m]))`).toString(),
    sources: [Buffer.from(`http_requests_total_${shape}`).toString()],
    knowsAllSources: true,
    lookbackMs: 300_000,
    grid: { kind: 'point', step: 15_000, origin: shape % 15_000 },
    identity: Buffer.from(`team-${shape}`).toString(),
    headers: [Buffer.from('content-type').toString(), Buffer.from('application/json').toString()],
  }
}

function fill(store: Store, filling: Filling): void {
  for (let i = 0; i < filling.shapes; i++) {
    const shape = shapeOf(i)
    const key = keyOf({ backend: shape.backend, identity: '', shape: shape.text, grid: shape.grid })
    assert.ok(store.write(key, { pane: paneWith(filling, 0, filling.buckets), shape }))
    for (let roll = 1; roll <= filling.rolls; roll++) {
      const pane = paneWith(filling, filling.buckets + roll - 12, 12)
      assert.ok(store.write(key, { pane, shape: shapeOf(i) }))
    }
  }
}

function held(): number {
  for (let i = 0; i < 4; i++) globalThis.gc!()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function measureHere(filling: Filling): { used: number; grown: number } {
  const budget = new Budget(2 ** 30)
  const store = memoryStore({ clock: fakeClock(), budget, retentionMs: 1e9, maxBucketsPerShape: 100_000 })
  fill(store, filling)
  const used = budget.used
  const filled = held()
  store.close()
  assert.equal(budget.used, 0)
  // Compared with the end and not with the beginning: the runtime's own memory has found its size by then.
  return { used, grown: filled - held() }
}

async function measureInChild(name: string): Promise<{ used: number; grown: number }> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--expose-gc', import.meta.filename, name],
    {
      env: { ...process.env, NODE_TEST_CONTEXT: '' },
    },
  )
  return JSON.parse(stdout) as { used: number; grown: number }
}

const asked = fillings[process.argv[2] ?? '']
if (asked !== undefined && globalThis.gc !== undefined) {
  process.stdout.write(JSON.stringify(measureHere(asked)))
} else {
  for (const name of Object.keys(fillings)) {
    test(`accounting follows the process: ${name}`, async (context) => {
      const { used, grown } = await measureInChild(name)
      const ratio = used / grown
      context.diagnostic(`accounted ${used}, grown ${grown}, ratio ${ratio.toFixed(3)}`)
      assert.ok(ratio > 0.7 && ratio < 1.3, `accounted ${used} bytes, the process grew by ${grown}`)
    })
  }
}

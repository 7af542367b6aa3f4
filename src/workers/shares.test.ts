/** Limits divided among workers, figures added up from them, and garbage collected by them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { noProbes } from '../engine/learning/counts.ts'
import { defaultLimits } from '../proxy/limits.ts'
import { withThreads } from '../telemetry/process-figures.ts'
import { addUp } from './figures.ts'
import { heapOfOne, limitsOfOne, maxPaneBytesOf, paneBytesOf } from './shares.ts'

test('each worker has its part of connections and requests, and all of the memory together', () => {
  const one = limitsOfOne(defaultLimits, 3)
  assert.deepEqual([one.upstreamConnections, one.maxRequests, one.maxConnections], [22, 342, 3334])
  assert.equal(one.memoryBytes, defaultLimits.memoryBytes)
  assert.ok(maxPaneBytesOf(defaultLimits, 3) <= paneBytesOf(defaultLimits, 3) / 4)
})

test('heaps of workers are part of the memory, and leave room for panes', () => {
  const MiB = 1024 * 1024
  const panes = (memoryMiB: number, workers: number) =>
    Math.floor(paneBytesOf({ ...defaultLimits, memoryBytes: memoryMiB * MiB }, workers) / MiB)
  assert.deepEqual([panes(512, 2), panes(512, 4), panes(512, 64)], [329, 294, 229])
  assert.deepEqual([panes(128, 2), panes(128, 64)], [33, 33])
  const heap = (memoryMiB: number) => heapOfOne({ ...defaultLimits, memoryBytes: memoryMiB * MiB })
  assert.ok(heap(128).maxYoungGenerationSizeMb! < heap(512).maxYoungGenerationSizeMb!)
})

test('figures of threads add up; of a database the worst is shown', () => {
  const state = { url: 'http://a/', since: 1 }
  const [sample, refresh] = [
    { same: 1, changed: 2, failed: 3 },
    { same: 10, changed: 20, failed: 30 },
  ]
  const noLimits = { requests: 0, cost: 0, points: 0 }
  const noQuotaCounts = { permits: 0, degraded: 0, refused: noLimits, dryRun: noLimits }
  const noBackground = { sample: noProbes, sentinel: noProbes, refresh: noProbes }
  const sum = addUp([
    {
      ...{ flights: 1, requests: 2, upstreams: [{ ...state, healthy: true, failures: 0 }] },
      background: { ...noBackground, sample },
      queue: { length: 1, waited: 2, waitedMs: 3, refused: 4 },
      quota: { ...noQuotaCounts, degraded: 1, refused: { requests: 10, cost: 20, points: 30 } },
    },
    undefined,
    {
      ...{ flights: 3, requests: 5, upstreams: [{ ...state, healthy: false, failures: 2 }] },
      background: { ...noBackground, sample, refresh },
      queue: { length: 10, waited: 20, waitedMs: 30, refused: 40 },
      quota: { ...noQuotaCounts, permits: 7, refused: { requests: 1, cost: 2, points: 3 } },
    },
  ])
  assert.deepEqual([sum.flights, sum.requests], [4, 7])
  assert.deepEqual(sum.queue, { length: 11, waited: 22, waitedMs: 33, refused: 44 })
  assert.deepEqual(sum.quota, {
    ...{ ...noQuotaCounts, permits: 7, degraded: 1 },
    refused: { requests: 11, cost: 22, points: 33 },
  })
  assert.deepEqual(sum.upstreams, [{ ...state, healthy: false, failures: 2 }])
  assert.deepEqual(sum.background, {
    ...{ ...noBackground, refresh },
    sample: { same: 2, changed: 4, failed: 6 },
  })
})

test('heaps add up, and the event loop that is late most counts', () => {
  const own = { cpuSeconds: 1, startedAt: 2, residentBytes: 3, heapBytes: 4, externalBytes: 5 }
  const figures = withThreads({ ...own, lagSeconds: { p50: 0, p99: 0.3, max: 0.4 } }, [
    { heapBytes: 10, lagSeconds: { p50: 0.1, p99: 0.2, max: 0.9 } },
    { heapBytes: 20, lagSeconds: { p50: 0, p99: 0, max: 0 } },
  ])
  assert.deepEqual(figures, { ...own, heapBytes: 34, lagSeconds: { p50: 0.1, p99: 0.3, max: 0.9 } })
})

/** In a thread of its own: where bodies come from is changed for good. */
const counting = `
  import { parentPort } from 'node:worker_threads'
  import { allocateBody } from ${JSON.stringify(new URL('../core/pane.ts', import.meta.url).href)}
  import { GarbageWatch } from ${JSON.stringify(new URL('../core/garbage.ts', import.meta.url).href)}
  import { shareBodies } from ${JSON.stringify(new URL('./shared-bodies.ts', import.meta.url).href)}
  let collections = 0
  const garbage = new GarbageWatch({ maxBytes: 128 << 20, bufferBytes: () => 0, collect: () => collections++ })
  shareBodies(garbage)
  const sizes = { from: 0, buckets: 1, columns: 0, lanes: 1, tableLength: 0, rankBytes: 0, frame: new Uint8Array(0), notes: [] }
  const body = allocateBody({ ...sizes, slabBytes: 100 * 1024 * 1024 })
  const after = [collections]
  garbage.countShared(20 << 20)
  after.push(collections)
  garbage.countShared(16 << 20)
  after.push(collections)
  parentPort.postMessage({ isShared: body.bytes.buffer instanceof SharedArrayBuffer, after })
`

test('bodies are made in shared memory, and count as garbage of their thread', async () => {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(counting)}`))
  const told = await new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  assert.deepEqual(told, { isShared: true, after: [0, 0, 1] })
})

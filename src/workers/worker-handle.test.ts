import assert from 'node:assert/strict'
import test from 'node:test'
import type { WorkerInit } from './messages.ts'
import { WorkerHandle } from './worker-handle.ts'

test('a command to a worker that has ended is not waited for', async () => {
  const worker = new WorkerHandle({ place: 1 } as WorkerInit, { startedAt: 0, heap: {} })
  await assert.rejects(worker.start({ onMessage: () => {}, onExit: () => {} }), /ended while it was starting/)
  assert.equal(await worker.command({ is: 'sampled-keys', backend: 'main' }), undefined)
})

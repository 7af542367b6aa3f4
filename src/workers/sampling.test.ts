/** Samples are divided among the workers that know shapes, and their results are added up. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { NotSampled, Sampled, SamplingOrder } from '../engine/learning/sampling.ts'
import { sampleInWorkers } from './sampling.ts'
import type { WorkerHandle } from './worker-handle.ts'

/** A worker that knows these shapes; undefined: one that ends before it answers. */
class FakeWorker implements Pick<WorkerHandle, 'command'> {
  readonly orders: SamplingOrder[] = []
  readonly #keys: readonly string[] | undefined
  readonly #answer: Sampled | NotSampled | undefined

  constructor(keys: readonly string[] | undefined, answer?: Sampled | NotSampled) {
    this.#keys = keys
    this.#answer = answer
  }

  command: WorkerHandle['command'] = async (command) => {
    assert.ok('backend' in command && command.backend === 'main')
    if (command.is === 'sample') this.orders.push(command.order)
    return (command.is === 'sample' ? this.#answer : this.#keys) as never
  }
}

const sample = (workers: readonly FakeWorker[], samples: number) =>
  sampleInWorkers(workers, 'main', { gapMs: 1000, samples })

test('each worker samples its part of the shapes, and none the shape of another', async () => {
  const workers = [
    new FakeWorker(['a', 'b'], { observations: 20, changed: 3, shapes: 2 }),
    new FakeWorker([]),
    new FakeWorker(['b', 'c'], { observations: 10, changed: 2, shapes: 1 }),
    new FakeWorker(['a']),
  ]
  assert.deepEqual(await sample(workers, 16), { observations: 30, changed: 5, shapes: 3 })
  assert.deepEqual(
    workers.map(({ orders }) => orders),
    [[{ gapMs: 1000, samples: 11, keys: ['a', 'b'] }], [], [{ gapMs: 1000, samples: 5, keys: ['c'] }], []],
  )
})

test('few samples are not more because many workers take them', async () => {
  const workers = ['a', 'b', 'c', 'd', 'e'].map(
    (key) => new FakeWorker([key], { observations: 2, changed: 0, shapes: 1 }),
  )
  await sample(workers, 2)
  const given = workers.flatMap(({ orders }) => orders.map(({ samples }) => samples))
  assert.deepEqual(given, [1, 1])
})

test('a worker that ends meanwhile adds nothing', async () => {
  const sampled = { observations: 20, changed: 3, shapes: 1 }
  const early = new FakeWorker(undefined)
  const late = new FakeWorker(['a'], undefined)
  assert.deepEqual(await sample([early, late, new FakeWorker(['b'], sampled)], 10), sampled)
  assert.equal(await sample([early, late], 10), 'idle')
})

test('nothing is sampled where no worker knows a shape, or the ones that do are busy with it', async () => {
  assert.equal(await sample([], 10), 'idle')
  assert.equal(await sample([new FakeWorker([]), new FakeWorker([])], 10), 'idle')
  assert.equal(await sample([new FakeWorker([]), new FakeWorker(['a'], 'busy')], 10), 'busy')
})

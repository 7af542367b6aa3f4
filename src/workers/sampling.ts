/**
 * Sampling with several workers: a worker can repeat only requests of shapes that it has served itself. The samples are
 * divided among the workers with such shapes, and no shape is sampled by two of them.
 */
import type { Key } from '../core/key.ts'
import type { NotSampled, Sampled, SamplingOrder } from '../engine/learning/sampling.ts'
import { bothOf } from './figures.ts'
import type { WorkerHandle } from './worker-handle.ts'

type Commanded = Pick<WorkerHandle, 'command'>

/** A worker that ends meanwhile adds nothing. */
export async function sampleInWorkers(
  workers: readonly Commanded[],
  backend: string,
  order: SamplingOrder,
): Promise<Sampled | NotSampled> {
  const known = await Promise.all(workers.map((worker) => worker.command({ is: 'sampled-keys', backend })))
  const orders = ordersOf(
    known.map((keys) => keys ?? []),
    order,
  )
  const answers = await Promise.all(
    workers.map((worker, i) =>
      orders[i]!.samples === 0 ? 'idle' : worker.command({ is: 'sample', backend, order: orders[i]! }),
    ),
  )
  const sampled = answers.filter((answer) => typeof answer === 'object')
  if (sampled.length === 0) return answers.includes('busy') ? 'busy' : 'idle'
  return sampled.reduce(bothOf)
}

/** To each worker as large a part of the samples as its part of the shapes. */
function ordersOf(known: readonly (readonly Key[])[], { gapMs, samples }: SamplingOrder): SamplingOrder[] {
  const total = new Set(known.flat()).size
  const taken = new Set<Key>()
  let given = 0
  return known.map((all) => {
    const keys = all.filter((key) => !taken.has(key))
    for (const key of keys) taken.add(key)
    const before = given
    given = total === 0 ? 0 : Math.round((samples * taken.size) / total)
    return { gapMs, samples: given - before, keys }
  })
}

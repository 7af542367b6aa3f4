import type { MaybePromise } from '../core/maybe.ts'
import type { Cells } from './cells.ts'

/** Cells whose operations are all carried out by `run`, which may let them fail, delay or watch them. */
export const cellsThrough = (
  cells: Cells,
  run: <T>(operation: () => MaybePromise<T>) => MaybePromise<T>,
): Cells => ({
  name: cells.name,
  capabilities: cells.capabilities,
  get: (id, v) => run(() => cells.get(id, v)),
  list: (pk, v) => run(() => cells.list(pk, v)),
  put: (id, draft, condition) => run(() => cells.put(id, draft, condition)),
  take: (id, take) => run(() => cells.take(id, take)),
  remove: (id, condition) => run(() => cells.remove(id, condition)),
  publish: (changes) => run(() => cells.publish(changes)),
  close: () => cells.close(),
})

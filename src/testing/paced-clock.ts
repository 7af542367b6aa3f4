/**
 * A fake clock that stands still while an operation of a store is in progress. Measurements of a law are then the same
 * on a store that answers at once and on one behind a network, however busy the machine is.
 */
import type { Cells } from '../stores/cells.ts'
import { cellsThrough } from '../stores/cells-through.ts'
import type { MaybePromise } from '../stores/store.ts'
import type { FakeClock } from './fake-clock.ts'

/** The clock to move, and the cells whose operations it waits for. */
export function paced(clock: FakeClock, cells: Cells): { clock: FakeClock; cells: Cells } {
  const underWay = new Set<Promise<unknown>>()
  const watched = <T>(given: MaybePromise<T>): MaybePromise<T> => {
    if (!(given instanceof Promise)) return given
    underWay.add(given)
    const end = (): void => void underWay.delete(given)
    given.then(end, end)
    return given
  }
  return {
    clock: {
      ...clock,
      async advance(ms) {
        // Runs due timers, which may begin operations; so may code that waited for one.
        await clock.advance(0)
        while (underWay.size > 0) {
          await Promise.allSettled(underWay)
          await clock.advance(0)
        }
        if (ms > 0) await clock.advance(ms)
      },
      get pending() {
        return clock.pending
      },
    },
    cells: cellsThrough(cells, (operation) => watched(operation())),
  }
}

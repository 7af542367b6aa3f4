/** Pending timers, earliest first: a binary heap, so that a simulation with thousands of timers does not scan them all. */
export interface PendingTimer {
  readonly at: number
  /** Timers that are due at the same instant run in the order in which they were set. */
  readonly order: number
  readonly action: () => void
  isCancelled: boolean
}

export class TimerQueue {
  readonly #heap: PendingTimer[] = []

  add(timer: PendingTimer): void {
    const heap = this.#heap
    let at = heap.push(timer) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (isBefore(heap[parent]!, timer)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = timer
  }

  /** Removes and returns the earliest timer that is due at `until` or before. Cancelled timers are dropped on the way. */
  takeDue(until: number): PendingTimer | undefined {
    for (let first = this.#heap[0]; first !== undefined && first.at <= until; first = this.#heap[0]) {
      this.#removeFirst()
      if (!first.isCancelled) return first
    }
    return undefined
  }

  #removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (isBefore(last, heap[child]!)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

const isBefore = (a: PendingTimer, b: PendingTimer): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order)

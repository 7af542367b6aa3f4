import type { Clock, Timer } from '../core/clock.ts'

/** Without a lag the answer comes as soon as the caller yields, at the same instant. */
export function afterLag(clock: Clock, lagMs: number, action: () => void): Timer {
  if (lagMs > 0) return clock.after(lagMs, action)
  let isCancelled = false
  queueMicrotask(() => {
    if (!isCancelled) action()
  })
  return {
    cancel() {
      isCancelled = true
    },
  }
}

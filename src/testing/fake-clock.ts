/** A clock that stands still until a test moves it. */
import type { Clock, EpochMs } from '../core/clock.ts'
import { type PendingTimer, TimerQueue } from './timer-queue.ts'

export interface FakeClock extends Clock {
  /** Moves time forward, running every timer that falls due on the way at its own instant, in order. */
  advance(ms: number): Promise<void>
  /** Sets the wall clock without running timers, as an operator or NTP would. */
  jump(to: EpochMs): void
  /** Timers that have neither run nor been cancelled. */
  readonly pending: number
}

/** `random` is a fixed sequence: the same test sees the same dice. */
export function fakeClock(start: EpochMs = Date.UTC(2026, 0, 1)): FakeClock {
  let now = start
  let elapsed = 0
  let order = 0
  let seed = 1
  let pending = 0
  const timers = new TimerQueue()
  return {
    now: () => Math.floor(now),
    elapsed: () => elapsed,
    random() {
      seed = (seed * 48_271) % 0x7fffffff
      return seed / 0x7fffffff
    },
    after(delayMs, action) {
      const timer: PendingTimer = { at: elapsed + delayMs, order: order++, action, isCancelled: false }
      timers.add(timer)
      pending++
      const cancel = () => {
        if (timer.isCancelled) return
        timer.isCancelled = true
        pending--
      }
      return { cancel }
    },
    async advance(ms) {
      // Timers that promises already under way are about to set count too.
      await settle()
      const end = elapsed + ms
      for (let timer = timers.takeDue(end); timer !== undefined; timer = timers.takeDue(end)) {
        // Cancelling it from now on changes nothing.
        timer.isCancelled = true
        pending--
        now += Math.max(0, timer.at - elapsed)
        elapsed = Math.max(elapsed, timer.at)
        timer.action()
        await settle()
      }
      now += end - elapsed
      elapsed = end
      await settle()
    },
    jump(to) {
      now = to
    },
    get pending() {
      return pending
    },
  }
}

/** The clock of a machine whose wall clock is ahead of another's, or behind it; time passes on both at once. */
export const skewed = (clock: FakeClock, aheadMs: number): FakeClock => ({
  ...clock,
  now: () => clock.now() + aheadMs,
  jump: (to) => clock.jump(to - aheadMs),
  get pending() {
    return clock.pending
  },
})

/** Lets promises that are already resolvable run their course, however long their chain is. */
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

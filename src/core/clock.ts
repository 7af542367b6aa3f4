/**
 * The only place that reads the wall clock, sets timers or rolls dice.
 * Everything else is handed a Clock, so that tests move time instead of waiting for it.
 */

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number

export interface Timer {
  /** After this call the action will not run. Calling it again, or after the action ran, does nothing. */
  cancel(): void
}

export interface Clock {
  /** The wall clock, in whole milliseconds. */
  now(): EpochMs
  /** Milliseconds, with fractions, on a scale that never goes back; for measuring durations only. */
  elapsed(): number
  /** A number in [0, 1). */
  random(): number
  /** Runs `action` once after `delayMs`. A pending timer does not keep the process alive. */
  after(delayMs: number, action: () => void): Timer
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  random: () => Math.random(),
  after(delayMs, action) {
    const handle = setTimeout(action, delayMs)
    handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
}

/** Resolves after so many milliseconds of this clock. */
export const pause = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve))

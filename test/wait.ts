/**
 * Waiting for external events: of another process, a thread, the kernel. The bound only ends a wait for something that
 * will never happen. It is far longer than any operation on a busy machine, so that load fails no test.
 */
import assert from 'node:assert/strict'
import { scheduler } from 'node:timers/promises'
import { systemClock } from '../src/core/clock.ts'

export const HANG_MS = 600_000

/**
 * Polls this often in each turn of the event loop; after that it sleeps between polls, to leave the CPU to the awaited
 * work.
 */
const EAGER_TURNS = 1000
const POLL_MS = 20

/** Returns once the condition holds: for events in this process. */
export async function until(holds: () => boolean): Promise<void> {
  const began = systemClock.elapsed()
  for (let turn = 0; !holds(); turn++) {
    assert.ok(systemClock.elapsed() - began < HANG_MS, `never came true: ${holds}`)
    await (turn < EAGER_TURNS ? scheduler.yield() : scheduler.wait(1))
  }
}

/** Polls; returns the first reply that is as wanted. For states of another process that it does not announce. */
export async function eventually<T>(probe: () => Promise<T>, isWanted: (reply: T) => boolean): Promise<T> {
  const began = systemClock.elapsed()
  for (;;) {
    const reply = await probe()
    if (isWanted(reply)) return reply
    const shown = () => `never came true: ${isWanted} of ${probe}, at last ${JSON.stringify(reply)}`
    if (systemClock.elapsed() - began > HANG_MS) assert.fail(shown())
    await scheduler.wait(POLL_MS)
  }
}

/** Returns the awaited value; fails with its name if it never comes, instead of a run that hangs. */
export async function bounded<T>(pending: Promise<T>, what: () => string): Promise<T> {
  const { promise: hang, reject } = Promise.withResolvers<never>()
  const timer = systemClock.after(HANG_MS, () => reject(new Error(`never came: ${what()}`)))
  return Promise.race([pending, hang]).finally(() => timer.cancel())
}

/** Waits until a number no longer changes from turn to turn: buffers are full, or everything is sent. */
export async function steady(value: () => number): Promise<void> {
  let [last, turns] = [-1, 0]
  await until(() => {
    turns = value() === last ? turns + 1 : 0
    last = value()
    return turns > 500
  })
}

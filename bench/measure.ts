/** Time of one call, as the best of several rounds: on a shared machine the smallest is the least disturbed. */
import { systemClock } from '../src/core/clock.ts'

export function microseconds(action: () => void, rounds = 15): number {
  warmUp(action)
  let calls = 1
  while (timeOf(action, calls) < 10_000) calls *= 2
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < rounds; i++) best = Math.min(best, timeOf(action, calls) / calls)
  return best
}

/**
 * Two actions in turn, so that whatever disturbs the machine disturbs both: the best round of each. A round takes a millisecond, which
 * is less than the system lets a process run before it is the turn of another.
 */
export function inTurn(first: () => void, second: () => void, rounds = 300): [number, number] {
  const best: [number, number] = [microseconds(first, 1), microseconds(second, 1)]
  const calls = Math.max(1, Math.round(1_000 / best[0]))
  for (let i = 0; i < rounds; i++) {
    best[0] = Math.min(best[0], timeOf(first, calls) / calls)
    best[1] = Math.min(best[1], timeOf(second, calls) / calls)
  }
  return best
}

/** Long enough for the compiler to have made up its mind. */
function warmUp(action: () => void): void {
  for (let spent = 0; spent < 500_000; ) spent += timeOf(action, 1)
}

function timeOf(action: () => void, calls: number): number {
  const began = systemClock.elapsed()
  for (let i = 0; i < calls; i++) action()
  return 1000 * (systemClock.elapsed() - began)
}

export const shown = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0)).padStart(8)

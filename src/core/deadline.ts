/** Limits how long a pending result is waited for. */
import type { Clock } from './clock.ts'

/** Resolves as `pending` does, or rejects when it has not after `timeoutMs`. A value that is there already is returned. */
export function inTime<T>(pending: Promise<T>, clock: Clock, timeoutMs: number): Promise<T>
export function inTime<T>(pending: T | Promise<T>, clock: Clock, timeoutMs: number): T | Promise<T>
export function inTime<T>(pending: T | Promise<T>, clock: Clock, timeoutMs: number): T | Promise<T> {
  if (!(pending instanceof Promise)) return pending
  return new Promise((resolve, reject) => {
    const timer = clock.after(timeoutMs, () => reject(new Error('no answer in time')))
    pending.then(resolve, reject).finally(() => timer.cancel())
  })
}

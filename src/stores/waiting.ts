/** Waiting for something outside of this process, such as a table that is being created. */
import { MessageChannel } from 'node:worker_threads'
import type { Clock } from '../core/clock.ts'

export const pause = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve))

/** Timers of the clock do not keep a process alive, and one that is starting may have nothing else that does. */
export async function keepingAlive<T>(action: () => Promise<T>): Promise<T> {
  const { port1 } = new MessageChannel()
  port1.ref()
  try {
    return await action()
  } finally {
    port1.close()
  }
}

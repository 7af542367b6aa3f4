/** Waiting for something outside of this process, such as a table that is being created. */
import { MessageChannel } from 'node:worker_threads'

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

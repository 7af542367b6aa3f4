/** Loaded before the command: SIGUSR2 ends the worker that has run longest, where it stands. For tests only. */
import { isMainThread, type Worker } from 'node:worker_threads'

if (isMainThread) {
  const running = new Set<Worker>()
  process.on('worker', (worker) => {
    running.add(worker)
    worker.once('exit', () => running.delete(worker))
  })
  process.on('SIGUSR2', () => void running.values().next().value?.terminate())
}

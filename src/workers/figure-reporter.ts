/** Sends the figures of a thread to the main thread whenever they differ from the last ones sent. */
import type { Clock } from '../core/clock.ts'
import type { WorkerFigures } from './messages.ts'

export interface FigureReporterOptions {
  readonly clock: Clock
  readonly figures: () => WorkerFigures
  readonly send: (figures: WorkerFigures) => void
}

const everyMs = 100

/** Returns the function that ends the reports. */
export function reportFigures({ clock, figures, send }: FigureReporterOptions): () => void {
  let sent = ''
  const lookLater = () => clock.after(everyMs, look)
  const look = () => {
    const current = figures()
    const text = JSON.stringify([...current.databases, current.thread, current.spans])
    if (text !== sent) send(current)
    sent = text
    timer = lookLater()
  }
  let timer = lookLater()
  return () => timer.cancel()
}

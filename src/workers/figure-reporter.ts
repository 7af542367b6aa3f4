/** Sends the figures of a thread to the main thread whenever they differ from the last ones sent. */
import type { Clock, Timer } from '../core/clock.ts'
import type { WorkerFigures } from './messages.ts'

export interface FigureReporterOptions {
  readonly clock: Clock
  readonly figures: () => WorkerFigures
  readonly send: (figures: WorkerFigures) => void
}

const everyMs = 100

export class FigureReporter {
  readonly #options: FigureReporterOptions
  #sent = ''
  #timer: Timer

  constructor(options: FigureReporterOptions) {
    this.#options = options
    this.#timer = this.#lookLater()
  }

  stop(): void {
    this.#timer.cancel()
  }

  #lookLater(): Timer {
    return this.#options.clock.after(everyMs, () => {
      const figures = this.#options.figures()
      const text = JSON.stringify([...figures.databases, figures.thread, figures.spans])
      if (text !== this.#sent) this.#options.send(figures)
      this.#sent = text
      this.#timer = this.#lookLater()
    })
  }
}

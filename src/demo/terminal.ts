/** Where the demo shows itself: redrawn in place on a terminal, lines anywhere else. */
import { enterScreen, frameOf, leaveScreen } from '../core/text.ts'
import { jsonLine, plainLine, summary } from './report.ts'
import type { Picture } from './tally.ts'
import { adminFlag, type DemoSetup, drawFrame } from './view.ts'

/** The used part of process.stdout. */
export interface Output {
  readonly columns?: number
  readonly rows?: number
  write(text: string): unknown
}

export interface Display {
  /** When it wants to show something first, and how often then. */
  readonly firstMs: number
  readonly everyMs: number
  open(setup: DemoSetup): void
  show(picture: Picture, setup: DemoSetup): void
  close(picture: Picture, setup: DemoSetup): void
}

export function terminalDisplay(output: Output, hasColor: boolean): Display {
  return {
    firstMs: 400,
    everyMs: 500,
    open: () => void output.write(enterScreen),
    show(picture, setup) {
      const { columns = 80, rows = 24 } = output
      output.write(frameOf(drawFrame(picture, setup, { columns, rows, hasColor })))
    },
    close: (picture) => void output.write(`${leaveScreen}${summary(picture)}`),
  }
}

export function plainDisplay(output: Output): Display {
  return {
    firstMs: 600,
    everyMs: 3000,
    open: ({ proxyUrl, adminUrl, dashboards }) =>
      void output.write(
        `windowpane demo: ${dashboards} dashboards query a simulated database through ${proxyUrl}\n` +
          `point your Grafana at ${proxyUrl} (Prometheus data source)\n` +
          `in another terminal: windowpane top${adminFlag(adminUrl)}, windowpane tail${adminFlag(adminUrl)}\n`,
      ),
    show: (picture) => void output.write(`${plainLine(picture)}\n`),
    close: (picture) => void output.write(summary(picture)),
  }
}

export function jsonDisplay(output: Output): Display {
  return {
    firstMs: 1000,
    everyMs: 1000,
    open() {},
    show: (picture, setup) => void output.write(`${jsonLine(picture, setup, false)}\n`),
    close: (picture, setup) => void output.write(`${jsonLine(picture, setup, true)}\n`),
  }
}

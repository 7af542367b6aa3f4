/** The demo from start to end. Of its processes this one shows it, one is the proxy, one has the database and the viewers. */
import { systemClock as clock } from '../core/clock.ts'
import { usualViewers } from './crowd.ts'
import { startProduct } from './product.ts'
import { type Display, jsonDisplay, plainDisplay, terminalDisplay } from './terminal.ts'
import { WorldProcess } from './world-process.ts'

export interface DemoArguments {
  /** Without it the usual address, or any free one where that is taken. */
  readonly listen: string | undefined
  /** Infinity: until it is stopped. */
  readonly seconds: number
  readonly seed: number
  readonly isJson: boolean
}

function displayFor({ isJson }: DemoArguments): Display {
  const { stdout, env } = process
  if (isJson) return jsonDisplay(stdout)
  if (!stdout.isTTY || env['TERM'] === 'dumb') return plainDisplay(stdout)
  return terminalDisplay(stdout, !env['NO_COLOR'])
}

/** Resolves when the demo is over. */
export async function play(args: DemoArguments): Promise<void> {
  const world = new WorldProcess(args.seed)
  const product = await world.databaseUrl
    .then((url) => startProduct(url, args.listen))
    .catch(async (error: unknown) => {
      await world.close()
      throw error
    })
  world.send({ kind: 'begin', proxyUrl: product.url, proxyPid: product.pid })
  const setup = { proxyUrl: product.url, adminUrl: product.admin, dashboards: usualViewers }
  const display = displayFor(args)
  display.open(setup)
  let isOver = false
  // Counted from the start: the time for drawing does not add up.
  let due = clock.elapsed() + display.firstMs
  const show = async (): Promise<void> => {
    const picture = await world.picture()
    if (isOver) return
    display.show(picture, setup)
    due += display.everyMs
    next = clock.after(Math.max(0, due - clock.elapsed()), () => void show())
  }
  let next = clock.after(display.firstMs, () => void show())
  await ended(args.seconds)
  isOver = true
  next.cancel()
  const last = await world.picture()
  await world.close()
  await product.close()
  display.close(last, setup)
}

/** By a signal, by the time given, or because the output was closed. A second signal does not wait. */
function ended(seconds: number): Promise<void> {
  return new Promise((resolve) => {
    const isEndless = seconds === Number.POSITIVE_INFINITY
    const timer = isEndless ? undefined : clock.after(seconds * 1000, resolve)
    let isStopping = false
    const stop = (): void => {
      if (isStopping) process.exit(1)
      isStopping = true
      timer?.cancel()
      resolve()
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
    process.stdout.on('error', () => process.exit(0))
  })
}

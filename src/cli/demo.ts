/** `windowpane demo`: an invented database, a crowd of viewers and the proxy between them, to look at. */
import { parseArgs } from 'node:util'
import { type Clock, systemClock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import { openStage, type Stage } from '../demo/stage.ts'
import { type Display, jsonDisplay, plainDisplay, terminalDisplay } from '../demo/terminal.ts'

const usage = `Usage: windowpane demo [options]

  windowpane demo
  windowpane demo --seconds 60
  windowpane demo --json --seconds 10

Starts a database of invented metrics, dashboards that look at it, and Windowpane between
them. Shows what the cache does until it is stopped. Needs nothing installed.

  --listen HOST:PORT   address of the proxy       127.0.0.1:9191, or a free port if taken
  --seconds N          end after N seconds        until stopped
  --seed N             another invented world     1
  --json               one line of JSON a second
  --help

NO_COLOR=1 leaves the colours out.
`

interface DemoArguments {
  readonly listen?: string
  readonly seconds: number
  readonly seed: number
  readonly isJson: boolean
}

/** Resolves to the exit code when the demo is over: 0, or 2 where it could not begin. */
export async function demo(argv: readonly string[], clock: Clock = systemClock): Promise<number> {
  const args = readDemoArguments(argv)
  if (args === 'help') {
    process.stdout.write(usage)
    return 0
  }
  if ('mistake' in args) {
    process.stderr.write(`windowpane demo: ${args.mistake}\n\n${usage}`)
    return 2
  }
  try {
    const stage = await openStage({ ...args, clock })
    await play(stage, displayFor(args), { clock, seconds: args.seconds })
    return 0
  } catch (error) {
    if (!(error instanceof WindowpaneError)) throw error
    process.stderr.write(`windowpane demo: ${error.message} (${error.code})\n${error.remedy}\n`)
    return 2
  }
}

function displayFor({ isJson }: DemoArguments): Display {
  const { stdout, env } = process
  if (isJson) return jsonDisplay(stdout)
  if (!stdout.isTTY || env['TERM'] === 'dumb') return plainDisplay(stdout)
  return terminalDisplay(stdout, !env['NO_COLOR'])
}

interface Showing {
  readonly clock: Clock
  readonly seconds: number
}

async function play(stage: Stage, display: Display, { clock, seconds }: Showing): Promise<void> {
  const { place } = stage
  display.open(place)
  // Counted from the start: what drawing takes does not add up.
  let due = clock.elapsed() + display.firstMs
  let next = clock.after(display.firstMs, function show() {
    display.show(stage.picture(), place)
    due += display.everyMs
    next = clock.after(Math.max(0, due - clock.elapsed()), show)
  })
  await ended(clock, seconds)
  next.cancel()
  const last = stage.picture()
  await stage.close()
  display.close(last, place)
}

/** By a signal, by the time given, or because nobody reads any more. A second signal does not wait. */
function ended(clock: Clock, seconds: number): Promise<void> {
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

function readDemoArguments(argv: readonly string[]): DemoArguments | 'help' | { readonly mistake: string } {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        listen: { type: 'string' },
        seconds: { type: 'string' },
        seed: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help === true) return 'help'
    const seconds = Number(values.seconds ?? Number.POSITIVE_INFINITY)
    if (!(seconds > 0)) return { mistake: `--seconds ${values.seconds}: expected a number above 0` }
    const seed = Number(values.seed ?? 1)
    if (!Number.isInteger(seed)) return { mistake: `--seed ${values.seed}: expected a whole number` }
    const { listen, json: isJson = false } = values
    return { seconds, seed, isJson, ...(listen !== undefined && { listen }) }
  } catch (error) {
    return { mistake: (error as Error).message }
  }
}

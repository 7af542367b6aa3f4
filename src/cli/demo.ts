/** `windowpane demo`: an invented database, a crowd of viewers and the proxy between them, to look at. */
import { parseArgs } from 'node:util'
import { WindowpaneError } from '../core/errors.ts'
import type { DemoArguments } from '../demo/play.ts'
import { type CommandWords, misuse, usageOf } from './command.ts'
import type { Io } from './config-file.ts'
import { exitCode } from './exit-codes.ts'

export const demoWords = {
  name: 'demo',
  summary: 'try it: simulated database and dashboards, nothing to install',
  synopsis: '[options]',
  examples: ['windowpane demo', 'windowpane demo --seconds 60', 'windowpane demo --json --seconds 10'],
  about: `Starts a simulated database, twelve dashboards that query it, and Windowpane between
them, each in a process of its own, and shows what the cache does until it is stopped. The
admin listener is on: windowpane top, tail, status and explain work on the demo.`,
  flags: [
    {
      name: 'listen',
      value: 'HOST:PORT',
      about: 'address of the proxy; default 127.0.0.1:9191, or a free port if taken',
    },
    { name: 'seconds', value: 'N', about: 'end after N seconds; default: when it is stopped' },
    { name: 'seed', value: 'N', about: 'another set of simulated data; default 1' },
    { name: 'json', about: 'one line of JSON a second' },
  ],
} as const satisfies CommandWords

/** Resolves to the exit code when the demo is over: 0, or 2 where it could not begin. */
export async function demo(argv: readonly string[], io: Io): Promise<number> {
  const args = readDemoArguments(argv)
  if (args === 'help') {
    io.out(usageOf(demoWords))
    return exitCode.ok
  }
  if ('mistake' in args) return misuse(demoWords, args.mistake, io)
  try {
    // Only here: no other command loads the database of the demo.
    const { play } = await import('../demo/play.ts')
    await play(args)
    return exitCode.ok
  } catch (error) {
    if (!(error instanceof WindowpaneError)) throw error
    io.err(`windowpane demo: ${error.message} (${error.code})\n${error.remedy}\n`)
    return exitCode.misused
  }
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

/** `windowpane demo`: an invented database, a crowd of viewers and the proxy between them, to look at. */
import { WindowpaneError } from '../core/errors.ts'
import type { DemoArguments } from '../demo/play.ts'
import { type Command, type CommandIo, expectNoMore, type Given, Misuse } from './command.ts'
import { exitCode } from './exit-codes.ts'

const words = {
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
} as const

/** Resolves to the exit code when the demo is over: 0, or 2 where it could not begin. */
async function run(given: Given, io: CommandIo): Promise<number> {
  expectNoMore(given.positionals)
  const args = argumentsOf(given)
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

function argumentsOf(given: Given): DemoArguments {
  const seconds = Number(given.flag('seconds') ?? Number.POSITIVE_INFINITY)
  if (!(seconds > 0)) throw new Misuse(`--seconds ${given.flag('seconds')}: expected a number above 0`)
  const seed = Number(given.flag('seed') ?? 1)
  if (!Number.isInteger(seed)) throw new Misuse(`--seed ${given.flag('seed')}: expected a whole number`)
  return { listen: given.flag('listen'), seconds, seed, isJson: given.has('json') }
}

export const demo: Command = { words, run }

/** `windowpane status`: the state of a running proxy, in a few lines. */
import { adminFlags, findAdmin, nodeFlag, parametersOf } from './admin-client.ts'
import { type Command, type CommandIo, expectNoMore, type Given, json } from './command.ts'
import { exitCode } from './exit-codes.ts'
import { fetchStatus } from './proxy-identity.ts'
import { statusLines } from './status-text.ts'

const words = {
  name: 'status',
  summary: 'show backends, stores and memory of a running proxy',
  synopsis: '[options]',
  examples: ['windowpane status', 'windowpane status --json'],
  about: `Reads /-/status of the admin listener. A backend without a healthy upstream or a store
that is not in use is marked with "!".`,
  flags: [nodeFlag, ...adminFlags],
  exits: [exitCode.failed, exitCode.unreachable],
} as const

async function run(given: Given, io: CommandIo): Promise<number> {
  expectNoMore(given.positionals)
  const admin = await findAdmin(given, io)
  const status = await fetchStatus(admin, parametersOf(given, ['node']))
  io.out(given.has('json') ? json(status) : `${statusLines(status, io).join('\n')}\n`)
  return exitCode.ok
}

export const status: Command = { words, run }

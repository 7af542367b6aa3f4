/** `windowpane status`: the state of a running proxy, in a few lines. */
import { adminFlags, fetchJson, findAdmin, nodeFlag, unreachable } from './admin-client.ts'
import { type Command, type CommandIo, complain, type Given, json, misuse } from './command.ts'
import { exitCode } from './exit-codes.ts'
import { type ProxyStatus, statusLines } from './status-text.ts'

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
  if (given.positionals.length > 0) return misuse(words, `"${given.positionals[0]}" is not understood`, io)
  const address = await findAdmin(given, io)
  if ('code' in address) return complain(io, address)
  const node = given.flag('node')
  const path = node === undefined ? '/-/status' : `/-/status?node=${encodeURIComponent(node)}`
  const status = await fetchJson<Partial<ProxyStatus>>(address, path, { io })
  if ('code' in status) return complain(io, status)
  const { version } = status.data
  if (typeof version !== 'string')
    return complain(io, unreachable(address.url, new Error('the server there is no Windowpane')))
  io.out(
    given.has('json') ? json(status.data) : `${statusLines({ ...status.data, version }, io).join('\n')}\n`,
  )
  return exitCode.ok
}

export const status: Command = { words, run }

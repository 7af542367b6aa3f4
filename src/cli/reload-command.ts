/** `windowpane reload`: a running proxy reads its configuration again. */
import { adminFlags, askAdmin, findAdmin, refusalOf } from './admin-client.ts'
import { type Command, type CommandIo, complain, type Given, json, misuse } from './command.ts'
import { exitCode, type Failure } from './exit-codes.ts'
import { nameProxy } from './proxy-identity.ts'
import { withoutControls } from './text.ts'

const words = {
  name: 'reload',
  summary: 'apply a changed configuration file without a restart',
  synopsis: '[options]',
  examples: ['windowpane reload', 'windowpane reload --admin http://10.0.0.7:9192'],
  about: `The running proxy reads its configuration file again. It applies the whole file, or
rejects it and keeps the configuration in force. The proxy must allow writes
(admin.allowWrites); SIGHUP and a change of the file do the same without it.`,
  flags: adminFlags,
  exits: [exitCode.failed, exitCode.unreachable],
} as const

/** The response of a reload that changes many backends can take some seconds. */
const patienceMs = 60_000

async function run(given: Given, io: CommandIo): Promise<number> {
  if (given.positionals.length > 0) return misuse(words, `"${given.positionals[0]}" is not understood`, io)
  const address = await findAdmin(given, io)
  if ('code' in address) return complain(io, address)
  const unnamed = await nameProxy(address, io)
  if (unnamed !== undefined) return complain(io, unnamed)
  const reply = await askAdmin(address, '/-/reload', { io, method: 'POST', patienceMs })
  if ('code' in reply) return complain(io, reply)
  const message = withoutControls(reply.text).trimEnd()
  const isRejected = reply.status === 422
  const refusal = isRejected ? undefined : refusalOf(reply)
  if (refusal !== undefined) return complain(io, withSignal(refusal))
  if (given.has('json')) io.out(json({ ok: !isRejected, message }))
  else if (isRejected) io.err(`windowpane: rejected; the previous configuration stays in force\n${message}\n`)
  else io.out(`${message}\n`)
  return isRejected ? exitCode.failed : exitCode.ok
}

const withSignal = (failure: Failure): Failure =>
  failure.remedy?.includes('allowWrites')
    ? { ...failure, remedy: `${failure.remedy} SIGHUP to its process reloads, too.` }
    : failure

export const reload: Command = { words, run }

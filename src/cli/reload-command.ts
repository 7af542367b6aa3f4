/** `windowpane reload`: a running proxy reads its configuration again. */
import { adminFlags, askAdmin, refusalOf } from './admin-client.ts'
import { type Command, type CommandIo, expectNoMore, type Given, json } from './command.ts'
import { exitCode, Failure } from './exit-codes.ts'
import { findNamedProxy } from './proxy-identity.ts'
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
  expectNoMore(given.positionals)
  const admin = await findNamedProxy(given, io)
  const reply = await askAdmin(admin, '/-/reload', { method: 'POST', patienceMs })
  const message = withoutControls(reply.text).trimEnd()
  const isRejected = reply.status === 422
  const refusal = isRejected ? undefined : refusalOf(reply)
  if (refusal !== undefined) throw withSignal(refusal)
  if (given.has('json')) io.out(json({ ok: !isRejected, message }))
  else if (isRejected) io.err(`windowpane: rejected; the previous configuration stays in force\n${message}\n`)
  else io.out(`${message}\n`)
  return isRejected ? exitCode.failed : exitCode.ok
}

const withSignal = (failure: Failure): Failure =>
  failure.remedy?.includes('allowWrites')
    ? new Failure(failure.code, failure.message, `${failure.remedy} SIGHUP to its process reloads, too.`)
    : failure

export const reload: Command = { words, run }

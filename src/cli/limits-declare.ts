/** `windowpane limits plan|apply|diff FILE`: shows the changes of a declaration, or makes them. */
import { fieldsIn } from '../core/json-object.ts'
import type { DeclarationAnswer } from '../proxy/admin/limits-apply.ts'
import { type AdminClient, askAdmin, findAdmin, posting, refusalOf } from './admin-client.ts'
import { type CommandIo, type Given, json } from './command.ts'
import { exitCode, Failure } from './exit-codes.ts'
import { readDeclarationFile } from './limits-file.ts'
import { diffText, planText } from './limits-text.ts'
import { findNamedProxy } from './proxy-identity.ts'
import { oneLine, painter } from './text.ts'

export interface DeclarationOrder {
  readonly action: 'plan' | 'apply' | 'diff'
  readonly file: string
  readonly by: string
}

export async function declare(order: DeclarationOrder, given: Given, io: CommandIo): Promise<number> {
  const { action, file } = order
  const declaration = await readDeclarationFile(file, io)
  const admin = await (action === 'apply' ? findNamedProxy : findAdmin)(given, io)
  const parameters = new URLSearchParams({
    ...(action !== 'apply' && { dryRun: '1' }),
    ...(given.has('adopt') && { adopt: '1' }),
    by: order.by,
  })
  const answer = await send(admin, `/-/limits/apply?${parameters}`, declaration)
  const text = action === 'diff' ? diffText : planText
  io.out(given.has('json') ? json(answer) : text(answer, painter(io)))
  if (answer.failure !== undefined) {
    const sentence = `only ${answer.changed ?? 0} of the changes were made: ${oneLine(answer.failure)}`
    throw new Failure(exitCode.failed, sentence)
  }
  const isPending = action !== 'apply' && answer.changes.some((change) => change.action !== 'keep')
  return isPending ? exitCode.pending : exitCode.ok
}

/** A response about a partial success is an answer, too. */
async function send(admin: AdminClient, path: string, declaration: unknown): Promise<DeclarationAnswer> {
  const reply = await askAdmin(admin, path, posting(declaration))
  const answer = fieldsIn(reply.text)
  if (Array.isArray(answer['changes'])) return answer as unknown as DeclarationAnswer
  throw refusalOf(reply) ?? new Failure(exitCode.failed, 'the server there is no Windowpane')
}

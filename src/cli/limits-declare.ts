/** `windowpane limits plan|apply|diff FILE`: shows the changes of a declaration, or makes them. */
import type { DeclarationAnswer } from '../proxy/admin/limits-apply.ts'
import { type AdminAddress, askAdmin, findAdmin, refusalOf } from './admin-client.ts'
import { type CommandIo, complain, type Given, json } from './command.ts'
import { exitCode, type Failure } from './exit-codes.ts'
import { readDeclarationFile } from './limits-file.ts'
import { diffText, planText } from './limits-text.ts'
import { nameProxy } from './proxy-identity.ts'
import { oneLine, painter } from './text.ts'

export type Declaring = 'plan' | 'apply' | 'diff'

export interface DeclarationOrder {
  readonly action: Declaring
  readonly file: string
  readonly by: string
}

export async function declare(order: DeclarationOrder, given: Given, io: CommandIo): Promise<number> {
  const { action, file } = order
  const declaration = await readDeclarationFile(file, io)
  if ('code' in declaration) return complain(io, declaration)
  const address = await findAdmin(given, io)
  if ('code' in address) return complain(io, address)
  const unnamed = action === 'apply' ? await nameProxy(address, io) : undefined
  if (unnamed !== undefined) return complain(io, unnamed)
  const parameters = new URLSearchParams({
    ...(action !== 'apply' && { dryRun: '1' }),
    ...(given.has('adopt') && { adopt: '1' }),
    by: order.by,
  })
  const answer = await send(address, `/-/limits/apply?${parameters}`, { value: declaration.value, io })
  if ('code' in answer) return complain(io, answer)
  return show(answer, { action, isJson: given.has('json') }, io)
}

/** A response about a partial success is an answer, too. */
async function send(
  address: AdminAddress,
  path: string,
  { value, io }: { readonly value: unknown; readonly io: CommandIo },
): Promise<DeclarationAnswer | Failure> {
  const question = { io, method: 'POST', body: JSON.stringify(value), type: 'application/json' } as const
  const reply = await askAdmin(address, path, question)
  if ('code' in reply) return reply
  const answer = answerIn(reply.text)
  const refusal: Failure = { code: exitCode.failed, sentence: 'the server there is no Windowpane' }
  return answer ?? refusalOf(reply) ?? refusal
}

function answerIn(text: string): DeclarationAnswer | undefined {
  try {
    const answer = JSON.parse(text) as Partial<DeclarationAnswer>
    return Array.isArray(answer.changes) ? (answer as DeclarationAnswer) : undefined
  } catch {
    return undefined
  }
}

function show(
  answer: DeclarationAnswer,
  { action, isJson }: { readonly action: Declaring; readonly isJson: boolean },
  io: CommandIo,
): number {
  const paint = painter(io)
  if (isJson) io.out(json(answer))
  else io.out(action === 'diff' ? diffText(answer, paint) : planText(answer, paint))
  if (answer.failure !== undefined) {
    const sentence = `only ${answer.changed ?? 0} of the changes were made: ${oneLine(answer.failure)}`
    return complain(io, { code: exitCode.failed, sentence })
  }
  if (action === 'apply') return exitCode.ok
  return answer.changes.some((change) => change.action !== 'keep') ? exitCode.pending : exitCode.ok
}

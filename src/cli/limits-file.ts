/** Reads a declaration of limits from a file of YAML or JSON. Thousands of entities take time in proportion, not to the square. */
import { stat } from 'node:fs/promises'
import { describeSource, type Raw, type Source } from '../config/source.ts'
import { parseYaml } from '../config/yaml.ts'
import { fileSentence } from '../core/file-error.ts'
import { jsonIn } from '../core/json-object.ts'
import { type CommandIo, textIn } from './command.ts'
import { exitCode, Failure } from './exit-codes.ts'
import { oneLine } from './text.ts'

const maxBytes = 4 * 1024 * 1024
/** Aliases are written out: a few lines can name more than any memory holds. */
const maxNodes = 1_000_000

const misused = (sentence: string): Failure => new Failure(exitCode.misused, sentence)

/** `-` is the input. @throws Failure */
export async function readDeclarationFile(name: string, io: CommandIo): Promise<unknown> {
  try {
    if (name !== '-' && (await stat(name)).size > maxBytes) throw tooLong(name)
    const text = await textIn(name, io)
    if (text.length > maxBytes) throw tooLong(name)
    return parsed(text, name)
  } catch (error) {
    throw error instanceof Failure ? error : misused(fileSentence(name, error))
  }
}

const tooLong = (name: string): Failure =>
  misused(`${oneLine(name)}: a declaration has at most ${maxBytes / 1024 / 1024} MiB`)

function parsed(text: string, name: string): unknown {
  const json = text.trimStart().startsWith('{') ? jsonIn(text) : undefined
  if (json !== undefined) return json
  const file = oneLine(name)
  const at = (line: number, column: number): Source => ({ kind: 'file', file, line, column })
  const { raw, problems } = parseYaml(text, at, maxNodes)
  const [problem] = problems
  if (problem !== undefined) throw misused(oneLine(`${describeSource(problem.source)}: ${problem.message}`))
  return (raw && plainOf(raw)) ?? {}
}

function plainOf(raw: Raw): unknown {
  if (raw.kind === 'scalar') return raw.value
  if (raw.kind === 'list') return raw.items.map(plainOf)
  return Object.fromEntries([...raw.entries].map(([name, { value }]) => [name, plainOf(value)]))
}

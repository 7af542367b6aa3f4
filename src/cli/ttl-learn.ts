/** `windowpane ttl learn`: sends recorded changes to a running proxy. */
import { readFile } from 'node:fs/promises'
import { fileSentence } from '../core/file-error.ts'
import type { Learnt } from '../proxy/admin/ttl.ts'
import { readHistory } from '../ttl/history.ts'
import { type AdminAddress, fetchJson, findAdmin } from './admin-client.ts'
import { type CommandIo, complain, type Given, json } from './command.ts'
import { exitCode, type Failure } from './exit-codes.ts'
import { nameProxy } from './proxy-identity.ts'
import { counted, oneLine } from './text.ts'

/** Long files are sent in pieces: the listener takes 16 MiB at once, and other requests have their turn between them. */
const maxPieceBytes = 4 * 1024 * 1024

/** The whole file is checked before any of it is sent. */
export async function learnFromFile(file: string, given: Given, io: CommandIo): Promise<number> {
  const lines = await linesOf(file, io)
  if ('code' in lines) return complain(io, lines)
  const address = await namedProxy(given, io)
  if ('code' in address) return complain(io, address)
  const parameters = parametersOf(given, ['backend'])
  const total = { backend: '', observations: 0, changed: 0 }
  for (const piece of piecesOf(lines)) {
    const answer = await send(address, { parameters, body: piece }, io)
    if ('code' in answer) return complain(io, answer)
    total.backend = answer.backend
    total.observations += answer.observations
    total.changed += answer.changed
  }
  const shapes = new Set(lines.map((line) => (JSON.parse(line) as { shape: string }).shape)).size
  const learnt: Learnt = { ...total, shapes }
  return said(learnt, given, io)
}

/** Takes as long as the gap. */
export async function learnFromSamples(given: Given, io: CommandIo): Promise<number> {
  const address = await namedProxy(given, io)
  if ('code' in address) return complain(io, address)
  const parameters = parametersOf(given, ['backend', 'gap', 'samples'])
  const answer = await send(address, { parameters, body: '' }, io)
  return 'code' in answer ? complain(io, answer) : said(answer, given, io)
}

async function namedProxy(given: Given, io: CommandIo): Promise<AdminAddress | Failure> {
  const address = await findAdmin(given, io)
  return 'code' in address ? address : ((await nameProxy(address, io)) ?? address)
}

function said(learnt: Learnt, given: Given, io: CommandIo): number {
  io.out(given.has('json') ? json(learnt) : `${sentenceOf(learnt)}\n`)
  return exitCode.ok
}

async function linesOf(file: string, io: CommandIo): Promise<readonly string[] | Failure> {
  const text = await textOf(file, io)
  if (typeof text !== 'string') return text
  const rows = readHistory(text)
  const name = file === '-' ? 'the input' : oneLine(file)
  if ('mistake' in rows) {
    const sentence = `${name}: line ${rows.line} ${oneLine(rows.mistake)}; nothing was learned`
    return {
      code: exitCode.misused,
      sentence,
      remedy: 'A line is like {"shape":"up","age":600,"gap":60,"changed":false}, in seconds.',
    }
  }
  if (rows.length === 0) return { code: exitCode.misused, sentence: `${name} is empty: nothing was learned` }
  return text.split('\n').filter((line) => line.trim() !== '')
}

async function textOf(file: string, io: CommandIo): Promise<string | Failure> {
  if (file === '-') return io.readInput()
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    return { code: exitCode.misused, sentence: fileSentence(file, error) }
  }
}

function* piecesOf(lines: readonly string[]): Iterable<string> {
  let piece: string[] = []
  let bytes = 0
  for (const line of lines) {
    const length = Buffer.byteLength(line) + 1
    if (bytes + length > maxPieceBytes && piece.length > 0) {
      yield piece.join('\n')
      piece = []
      bytes = 0
    }
    piece.push(line)
    bytes += length
  }
  yield piece.join('\n')
}

/** Flags that are parameters of the request by the same name. */
export function parametersOf(given: Given, names: readonly string[]): string {
  const chosen = names.flatMap((name) => {
    const value = given.flag(name)
    return value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]
  })
  return chosen.length === 0 ? '' : `?${chosen.join('&')}`
}

async function send(
  address: AdminAddress,
  { parameters, body }: { readonly parameters: string; readonly body: string },
  io: CommandIo,
): Promise<Learnt | Failure> {
  const question = { io, method: 'POST', body, type: 'application/x-ndjson' } as const
  const answer = await fetchJson<Learnt>(address, `/-/ttl/learn${parameters}`, question)
  return 'code' in answer ? answer : answer.data
}

const sentenceOf = ({ backend, observations, changed, shapes }: Learnt): string =>
  `${oneLine(backend)}: learned from ${counted(observations, 'observation')} of ${counted(shapes, 'shape')}, ${changed.toLocaleString('en-US')} of them changed. windowpane ttl shows the curve.`

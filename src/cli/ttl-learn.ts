/** `windowpane ttl learn`: sends recorded changes to a running proxy. */
import { batchesOf } from '../core/batches.ts'
import { fileSentence } from '../core/file-error.ts'
import type { Learnt } from '../proxy/admin/ttl.ts'
import { readHistory } from '../ttl/history.ts'
import { type AdminClient, fetchJson, parametersOf } from './admin-client.ts'
import { type CommandIo, type Given, json, textIn } from './command.ts'
import { exitCode, Failure } from './exit-codes.ts'
import { findNamedProxy } from './proxy-identity.ts'
import { counted, oneLine } from './text.ts'

/** Long files are sent in pieces: the listener takes 16 MiB at once, and other requests have their turn between them. */
const maxPieceBytes = 4 * 1024 * 1024

/** The whole file is checked before any of it is sent. */
export async function learnFromFile(file: string, given: Given, io: CommandIo): Promise<number> {
  const lines = await linesOf(file, io)
  const admin = await findNamedProxy(given, io)
  const parameters = parametersOf(given, ['backend'])
  const total = { backend: '', observations: 0, changed: 0 }
  for (const piece of batchesOf(lines, maxPieceBytes, (line) => Buffer.byteLength(line) + 1)) {
    const answer = await send(admin, parameters, piece.join('\n'))
    total.backend = answer.backend
    total.observations += answer.observations
    total.changed += answer.changed
  }
  const shapes = new Set(lines.map((line) => (JSON.parse(line) as { shape: string }).shape)).size
  return said({ ...total, shapes }, given, io)
}

/** Takes as long as the gap. */
export async function learnFromSamples(given: Given, io: CommandIo): Promise<number> {
  const admin = await findNamedProxy(given, io)
  return said(await send(admin, parametersOf(given, ['backend', 'gap', 'samples']), ''), given, io)
}

function said(learnt: Learnt, given: Given, io: CommandIo): number {
  io.out(given.has('json') ? json(learnt) : `${sentenceOf(learnt)}\n`)
  return exitCode.ok
}

async function linesOf(file: string, io: CommandIo): Promise<readonly string[]> {
  const text = await textIn(file, io).catch((error) => {
    throw new Failure(exitCode.misused, fileSentence(file, error))
  })
  const rows = readHistory(text)
  const name = file === '-' ? 'the input' : oneLine(file)
  if ('mistake' in rows) {
    const sentence = `${name}: line ${rows.line} ${oneLine(rows.mistake)}; nothing was learned`
    const remedy = 'A line is like {"shape":"up","age":600,"gap":60,"changed":false}, in seconds.'
    throw new Failure(exitCode.misused, sentence, remedy)
  }
  if (rows.length === 0) throw new Failure(exitCode.misused, `${name} is empty: nothing was learned`)
  return text.split('\n').filter((line) => line.trim() !== '')
}

const send = (admin: AdminClient, parameters: string, body: string): Promise<Learnt> =>
  fetchJson(admin, `/-/ttl/learn${parameters}`, { method: 'POST', body, type: 'application/x-ndjson' })

const sentenceOf = ({ backend, observations, changed, shapes }: Learnt): string =>
  `${oneLine(backend)}: learned from ${counted(observations, 'observation')} of ${counted(shapes, 'shape')}, ${changed.toLocaleString('en-US')} of them changed. windowpane ttl shows the curve.`

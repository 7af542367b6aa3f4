/** `windowpane ttl`: the TTL at each age, its evidence, and whether the staleness is within its budget. */
import { writeFile } from 'node:fs/promises'
import { fileSentence } from '../core/file-error.ts'
import type { BackendTtl } from '../proxy/admin/ttl.ts'
import { adminFlags, fetchJson, findAdmin, parametersOf } from './admin-client.ts'
import { type Command, type CommandIo, type Given, json, Misuse } from './command.ts'
import { exitCode, Failure } from './exit-codes.ts'
import { counted, painter } from './text.ts'
import { learnFromFile, learnFromSamples } from './ttl-learn.ts'
import { ttlSvg } from './ttl-svg.ts'
import { ttlLines } from './ttl-text.ts'

const words = {
  name: 'ttl',
  summary: 'TTLs by age, their evidence, and the measured staleness',
  synopsis: '[--svg FILE] [options] | learn [--from FILE] [options]',
  choices: ['learn'],
  examples: [
    'windowpane ttl',
    "windowpane ttl --backend main --shape 'sum(rate(errors[5m]))' --svg ttl.svg",
    'windowpane ttl learn --from history.jsonl',
    'windowpane ttl learn --gap 60s --samples 100',
  ],
  about: `Draws the TTL and the mean time between changes over the age of a bucket. learn reads
JSON lines {"shape", "age", "gap", "changed"}: a bucket of this age (in seconds) was fetched
again after the gap, and had changed or not. Without a file, buckets of recently requested shapes
are fetched twice. Both need admin.allowWrites. With --json there is one
object, or a list of them where there are several backends or rules with policies of their own.`,
  flags: [
    { name: 'backend', value: 'NAME', about: 'only this database' },
    { name: 'shape', value: 'KEY|TEXT', about: 'of one shape: its key, or its text' },
    { name: 'svg', value: 'FILE', about: 'write the curve to a file, as an SVG' },
    { name: 'from', value: 'FILE', about: 'learn: from this file; - is the input' },
    { name: 'gap', value: 'TIME', about: 'learn without a file: the time between two fetches; default 60s' },
    { name: 'samples', value: 'NUMBER', about: 'learn without a file: buckets to fetch; default 100' },
    ...adminFlags,
  ],
  exits: [exitCode.failed, exitCode.unreachable],
} as const

async function run(given: Given, io: CommandIo): Promise<number> {
  const [action, ...more] = given.positionals
  if (action === 'learn' && more.length === 0) return learn(given, io)
  if (action !== undefined) throw new Misuse(`"${more[0] ?? action}" is not understood`)
  const learning = ['from', 'gap', 'samples'].find((name) => given.has(name))
  if (learning !== undefined) throw new Misuse(`--${learning} belongs to ttl learn`)
  const admin = await findAdmin(given, io)
  const path = `/-/ttl${parametersOf(given, ['backend', 'shape'])}`
  const reports = await fetchJson<readonly BackendTtl[]>(admin, path)
  const svg = given.flag('svg')
  if (svg !== undefined) await draw(svg, reports)
  if (given.has('json')) io.out(json(reports.length === 1 ? reports[0] : reports))
  else if (svg === undefined) io.out(textOf(reports, io))
  return exitCode.ok
}

function learn(given: Given, io: CommandIo): Promise<number> {
  const stranger = ['svg', 'shape'].find((name) => given.has(name))
  if (stranger !== undefined) throw new Misuse(`--${stranger} does not belong to ttl learn`)
  const file = given.flag('from')
  if (file === undefined) return learnFromSamples(given, io)
  if (given.has('gap') || given.has('samples'))
    throw new Misuse('--gap and --samples are for learning without a file')
  return learnFromFile(file, given, io)
}

async function draw(file: string, reports: readonly BackendTtl[]): Promise<void> {
  // The policies of rules are exceptions: the policy of the database is drawn.
  const [report, ...others] = reports.filter(({ rule }) => rule === undefined)
  if (report === undefined || others.length > 0) {
    const several = `there are ${counted(reports.length, 'backend')}, and a drawing shows one`
    throw new Misuse(`${several}: name it with --backend`)
  }
  try {
    await writeFile(file, ttlSvg(report))
  } catch (error) {
    throw new Failure(exitCode.failed, fileSentence(file, error))
  }
}

function textOf(reports: readonly BackendTtl[], io: CommandIo): string {
  const { terminal, hasUtf8 } = io
  const columns = terminal?.columns() ?? 80
  const paint = painter(io)
  return reports.map((report) => `${ttlLines(report, { columns, hasUtf8, paint }).join('\n')}\n`).join('\n')
}

export const ttl: Command = { words, run }

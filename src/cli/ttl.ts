/** `windowpane ttl`: the TTL at each age, its evidence, and whether the staleness is within its budget. */
import { writeFile } from 'node:fs/promises'
import { fileSentence } from '../core/file-error.ts'
import type { BackendTtl } from '../proxy/admin/ttl.ts'
import { adminFlags, fetchJson, findAdmin } from './admin-client.ts'
import { type Command, type CommandIo, complain, type Given, json, misuse } from './command.ts'
import { exitCode } from './exit-codes.ts'
import { counted, painter } from './text.ts'
import { learnFromFile, learnFromSamples, parametersOf } from './ttl-learn.ts'
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
  if (action !== undefined) return misuse(words, `"${more[0] ?? action}" is not understood`, io)
  const learning = ['from', 'gap', 'samples'].find((name) => given.has(name))
  if (learning !== undefined) return misuse(words, `--${learning} belongs to ttl learn`, io)
  const address = await findAdmin(given, io)
  if ('code' in address) return complain(io, address)
  const answer = await fetchJson<readonly BackendTtl[]>(
    address,
    `/-/ttl${parametersOf(given, ['backend', 'shape'])}`,
    { io },
  )
  if ('code' in answer) return complain(io, answer)
  return show(answer.data, given, io)
}

function learn(given: Given, io: CommandIo): number | Promise<number> {
  const stranger = ['svg', 'shape'].find((name) => given.has(name))
  if (stranger !== undefined) return misuse(words, `--${stranger} does not belong to ttl learn`, io)
  const file = given.flag('from')
  if (file === undefined) return learnFromSamples(given, io)
  if (given.has('gap') || given.has('samples'))
    return misuse(words, '--gap and --samples are for learning without a file', io)
  return learnFromFile(file, given, io)
}

async function show(reports: readonly BackendTtl[], given: Given, io: CommandIo): Promise<number> {
  const svg = given.flag('svg')
  if (svg !== undefined) {
    const code = await draw(svg, reports, io)
    if (code !== exitCode.ok) return code
  }
  if (given.has('json')) io.out(json(reports.length === 1 ? reports[0] : reports))
  else if (svg === undefined) io.out(textOf(reports, io))
  return exitCode.ok
}

async function draw(file: string, reports: readonly BackendTtl[], io: CommandIo): Promise<number> {
  // The policies of rules are exceptions: the policy of the database is drawn.
  const [report, ...others] = reports.filter(({ rule }) => rule === undefined)
  if (report === undefined || others.length > 0) {
    const several = `there are ${counted(reports.length, 'backend')}, and a drawing shows one`
    return misuse(words, `${several}: name it with --backend`, io)
  }
  try {
    await writeFile(file, ttlSvg(report))
    return exitCode.ok
  } catch (error) {
    return complain(io, { code: exitCode.failed, sentence: fileSentence(file, error) })
  }
}

function textOf(reports: readonly BackendTtl[], io: CommandIo): string {
  const { terminal, hasUtf8 } = io
  const columns = terminal?.columns() ?? 80
  const paint = painter(io)
  return reports.map((report) => `${ttlLines(report, { columns, hasUtf8, paint }).join('\n')}\n`).join('\n')
}

export const ttl: Command = { words, run }

/** `windowpane shadow`: whether the cache's answers equal the database's, and where they did not. */
import { type AdminAddress, adminFlags, fetchJson, findAdmin, nodeFlag } from './admin-client.ts'
import { type Command, type CommandIo, complain, type Given, json, misuse } from './command.ts'
import { exitCode } from './exit-codes.ts'
import {
  isCompared,
  mismatchLines,
  reportLines,
  type ShadowMismatch,
  type ShadowReport,
} from './shadow-text.ts'
import { oneLine, withoutControls } from './text.ts'

const words = {
  name: 'shadow',
  summary: 'compare cached and direct responses before you switch on',
  synopsis: 'report | show <id> [options]',
  choices: ['report', 'show'],
  examples: [
    'windowpane shadow report',
    'windowpane shadow report --backend main --json',
    'windowpane shadow show 17 --only cached > cached.json',
  ],
  about: `report: of all nodes that share a store, per database the verdict, the counts and the answers that differed; it ends
with 0 if it is safe to switch on, 5 if more must be seen first, 1 if it is unsafe.
show: one answer that differed, with both bodies.`,
  flags: [
    { name: 'backend', value: 'NAME', about: 'only this database' },
    { name: 'only', value: 'WHICH', about: 'of show: one body and nothing else: cached or direct' },
    nodeFlag,
    ...adminFlags,
  ],
  exits: [exitCode.failed, exitCode.unreachable, exitCode.undecided],
} as const

async function run(given: Given, io: CommandIo): Promise<number> {
  const [what, id, ...more] = given.positionals
  const isShow = what === 'show' && id !== undefined && more.length === 0
  if (!isShow && !(what === 'report' && id === undefined)) {
    return misuse(words, 'expected report, or show and the id of a mismatch', io)
  }
  const only = given.flag('only')
  if (only !== undefined && only !== 'cached' && only !== 'direct') {
    return misuse(words, '--only is cached or direct', io)
  }
  const address = await findAdmin(given, io)
  if ('code' in address) return complain(io, address)
  return isShow ? show(address, id, { given, io }) : report(address, { given, io })
}

interface Call {
  readonly given: Given
  readonly io: CommandIo
}

async function report(address: AdminAddress, { given, io }: Call): Promise<number> {
  const node = given.flag('node')
  const path = node === undefined ? '/-/shadow' : `/-/shadow?node=${encodeURIComponent(node)}`
  const answer = await fetchJson<ShadowReport>(address, path, { io })
  if ('code' in answer) return complain(io, answer)
  const name = given.flag('backend')
  const all = answer.data.backends
  const backends = all.filter(({ backend }) => name === undefined || backend === name)
  if (name !== undefined && backends.length === 0) {
    const known = all.map(({ backend }) => backend).join(', ')
    return complain(io, {
      code: exitCode.misused,
      sentence: `there is no backend "${name}"; there are: ${known}`,
    })
  }
  const { note } = answer.data
  if (note !== undefined) io.err(`windowpane: ${oneLine(note)}\n`)
  io.out(given.has('json') ? json({ backends }) : `${reportLines(backends, io).join('\n')}\n`)
  const judged = name === undefined ? backends.filter(isCompared) : backends
  return verdictCode(judged.map(({ verdict }) => verdict))
}

/** The worst decides. */
function verdictCode(verdicts: readonly string[]): number {
  if (verdicts.includes('unsafe')) return exitCode.failed
  return verdicts.length > 0 && verdicts.every((verdict) => verdict === 'safe')
    ? exitCode.ok
    : exitCode.undecided
}

async function show(address: AdminAddress, id: string, { given, io }: Call): Promise<number> {
  const path = `/-/shadow/${encodeURIComponent(id)}`
  const answer = await fetchJson<ShadowMismatch>(address, path, { io })
  if ('code' in answer) return complain(io, answer)
  const { data } = answer
  const only = given.flag('only') as 'cached' | 'direct' | undefined
  if (only !== undefined) return body(data[only], only, io)
  if (given.has('json')) io.out(json(data))
  else
    io.out(
      `${[...mismatchLines(data, io), ...bodyLines('cached', data), ...bodyLines('direct', data)].join('\n')}\n`,
    )
  return exitCode.ok
}

/** The bytes as they were: for a file, or a program that compares. */
function body(text: string | null | undefined, which: string, io: CommandIo): number {
  if (text == null) {
    return complain(io, { code: exitCode.failed, sentence: `the ${which} body was too large to be kept` })
  }
  io.out(io.terminal === undefined ? text : `${withoutControls(text)}\n`)
  return exitCode.ok
}

function bodyLines(which: 'cached' | 'direct', mismatch: ShadowMismatch): string[] {
  const text = mismatch[which]
  const bytes = which === 'cached' ? mismatch.cachedBytes : mismatch.directBytes
  const size = bytes === undefined ? '' : ` (${bytes} bytes)`
  return ['', `${which}${size}:`, text == null ? 'too large to be kept' : withoutControls(text)]
}

export const shadow: Command = { words, run }

/** `windowpane shadow`: whether the cache's answers equal the database's, and where they did not. */
import { type AdminClient, adminFlags, fetchJson, findAdmin, nodeFlag, parametersOf } from './admin-client.ts'
import { type Command, type CommandIo, type Given, json, Misuse } from './command.ts'
import { exitCode, Failure } from './exit-codes.ts'
import {
  isCompared,
  mismatchLines,
  reportLines,
  type ShadowAnswer,
  type ShadowMismatch,
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
  if (!isShow && !(what === 'report' && id === undefined))
    throw new Misuse('expected report, or show and the id of a mismatch')
  const only = given.flag('only')
  if (only !== undefined && only !== 'cached' && only !== 'direct')
    throw new Misuse('--only is cached or direct')
  const admin = await findAdmin(given, io)
  if (!isShow) return report(admin, given)
  const mismatch = await fetchJson<ShadowMismatch>(admin, `/-/shadow/${encodeURIComponent(id)}`)
  if (only === undefined) io.out(given.has('json') ? json(mismatch) : mismatchText(mismatch, io))
  else io.out(bodyText(mismatch, only, io))
  return exitCode.ok
}

async function report(admin: AdminClient, given: Given): Promise<number> {
  const { io } = admin
  const { backends: all, note } = await fetchJson<ShadowAnswer>(
    admin,
    `/-/shadow${parametersOf(given, ['node'])}`,
  )
  const name = given.flag('backend')
  const backends = all.filter(({ backend }) => name === undefined || backend === name)
  if (name !== undefined && backends.length === 0) {
    const known = all.map(({ backend }) => backend).join(', ')
    throw new Failure(exitCode.misused, `there is no backend "${name}"; there are: ${known}`)
  }
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

/** The bytes as they were: for a file, or a program that compares. */
function bodyText(mismatch: ShadowMismatch, which: Side, io: CommandIo): string {
  const text = mismatch[which]
  if (text == null) throw new Failure(exitCode.failed, `the ${which} body was too large to be kept`)
  return io.terminal === undefined ? text : `${withoutControls(text)}\n`
}

function mismatchText(mismatch: ShadowMismatch, io: CommandIo): string {
  const bodies = (['cached', 'direct'] as const).flatMap((which) => bodyLines(which, mismatch))
  return `${[...mismatchLines(mismatch, io), ...bodies].join('\n')}\n`
}

type Side = 'cached' | 'direct'

function bodyLines(which: Side, mismatch: ShadowMismatch): string[] {
  const text = mismatch[which]
  const bytes = which === 'cached' ? mismatch.cachedBytes : mismatch.directBytes
  const size = bytes === undefined ? '' : ` (${bytes} bytes)`
  return ['', `${which}${size}:`, text == null ? 'too large to be kept' : withoutControls(text)]
}

export const shadow: Command = { words, run }

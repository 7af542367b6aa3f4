/** `windowpane purge`: makes stored buckets unusable; first shows how many. */
import { readTime, timeForms } from '../proxy/admin/time.ts'
import { adminFlags, fetchJson, posting } from './admin-client.ts'
import { type Command, type CommandIo, type Given, json, Misuse } from './command.ts'
import { exitCode } from './exit-codes.ts'
import { findNamedProxy, type Reach, reachText } from './proxy-identity.ts'
import { shapeText } from './shape-text.ts'
import { counted, fitted, numbers, oneLine, tableLines, texts } from './text.ts'

const words = {
  name: 'purge',
  summary: 'delete cached buckets by backend, shape, metric and time',
  synopsis: '[selection] [--yes]',
  examples: [
    'windowpane purge --source http_requests_total --from -2h --dry-run',
    'windowpane purge --backend main --from 2026-01-01T00:00:00Z --to now',
    'windowpane purge --all --yes',
  ],
  about: `Buckets are purged that match all flags. The number of buckets is shown first; nothing
is purged without --yes or a confirmation. The proxy must allow it: admin.allowWrites.`,
  flags: [
    { name: 'backend', value: 'NAME', about: 'of one database' },
    { name: 'shape', value: 'KEY|TEXT', about: 'of one shape: its key, or its text' },
    { name: 'source', value: 'NAME', about: 'of everything that reads this metric or data source' },
    { name: 'metric', value: 'NAME', about: 'the same as --source' },
    { name: 'from', value: 'TIME', about: `from this instant on: ${timeForms}` },
    { name: 'to', value: 'TIME', about: 'up to this instant' },
    { name: 'all', about: 'everything' },
    { name: 'dry-run', about: 'only count; needs no permission to write' },
    { name: 'yes', about: 'without confirmation' },
    ...adminFlags,
  ],
  exits: [exitCode.failed, exitCode.unreachable, exitCode.unconfirmed],
} as const

interface PurgeAnswer {
  readonly shapes: number
  readonly buckets: number
  readonly selection: Readonly<Record<string, unknown>>
  /** A remark about it. */
  readonly note?: string
  /** Where the store is shared. */
  readonly reach?: Reach
  readonly examples?: readonly {
    readonly text: string
    readonly backend: string
    readonly buckets: number
  }[]
}

async function run(given: Given, io: CommandIo): Promise<number> {
  expectTimes(given, io)
  const selection = selectionOf(given)
  const admin = await findNamedProxy(given, io)
  const isJson = given.has('json')
  if (!given.has('yes') || given.has('dry-run')) {
    const answer = await fetchJson<PurgeAnswer>(admin, '/-/purge?dryRun=1', posting(selection))
    io.out(isJson ? json(answer) : countText(answer, io))
    if (given.has('dry-run')) return exitCode.ok
    if (!(await isConfirmed(answer, io))) return exitCode.unconfirmed
  }
  const answer = await fetchJson<PurgeAnswer>(admin, '/-/purge', posting(selection))
  const reach = reachText(answer.reach).replace(/,$/, '')
  io.out(isJson ? json(answer) : `Purged ${amountOf(answer)}${reach}.\n`)
  if (answer.note !== undefined) io.err(`windowpane: ${oneLine(answer.note)}\n`)
  return exitCode.ok
}

async function isConfirmed({ buckets }: PurgeAnswer, io: CommandIo): Promise<boolean> {
  if (io.confirm === undefined) {
    io.err('windowpane: nothing was purged; add --yes to purge without confirmation\n')
    return false
  }
  const isYes = await io.confirm(`Purge ${counted(buckets, 'bucket')}?`)
  if (!isYes) io.err('windowpane: nothing was purged\n')
  return isYes
}

/** Mistakes are reported here, by the flag that was typed. */
function expectTimes(given: Given, { clock }: CommandIo): void {
  for (const name of ['from', 'to']) {
    const value = given.flag(name)
    if (value !== undefined && readTime(value, clock.now()) === undefined)
      throw new Misuse(`--${name} ${oneLine(value)}: expected ${timeForms}`)
  }
}

const fields = ['backend', 'shape', 'source', 'from', 'to'] as const

function selectionOf(given: Given): Readonly<Record<string, string | true>> {
  if (given.positionals.length > 0)
    throw new Misuse(`"${given.positionals[0]}" is not understood; select the data with flags`)
  if (given.has('source') && given.has('metric'))
    throw new Misuse('--source and --metric mean the same: give one')
  const source = given.flag('source') ?? given.flag('metric')
  const chosen = fields.map((name) => [name, name === 'source' ? source : given.flag(name)] as const)
  const selection = Object.fromEntries(
    chosen.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  const isSelective = Object.keys(selection).length > 0
  if (given.has('all') && isSelective) throw new Misuse('--all means everything: give it alone')
  if (given.has('all')) return { all: true }
  if (isSelective) return selection
  throw new Misuse(
    'select the data to purge: --backend, --shape, --source, --from, --to, or --all for everything',
  )
}

/** The buckets that would be purged. */
function countText(answer: PurgeAnswer, io: CommandIo): string {
  const { examples = [], shapes } = answer
  const sentence = `Selected: ${amountOf(answer)}.\n`
  if (examples.length === 0) return sentence
  const rows = examples.map(({ buckets, backend, text }) => [
    buckets.toLocaleString('en-US'),
    oneLine(backend),
    shapeText(text),
  ])
  const table = tableLines([...numbers('buckets'), ...texts('backend', 'shape')], rows)
  const lines = fitted(table, io).map((line) => `${line}\n`)
  const left = shapes - examples.length
  return `${sentence}${lines.join('')}${left > 0 ? `and ${counted(left, 'more shape')}\n` : ''}`
}

const amountOf = ({ shapes, buckets, selection }: PurgeAnswer): string =>
  `${counted(buckets, 'bucket')} of ${counted(shapes, 'shape')} (${selectionText(selection)})`

const selectionText = (selection: PurgeAnswer['selection']): string =>
  Object.entries(selection)
    .map(([name, value]) => (value === true ? name : `${name} ${oneLine(String(value))}`))
    .join(', ')

export const purge: Command = { words, run }

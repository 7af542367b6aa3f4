/** `windowpane purge`: makes stored buckets unusable; first shows how many. */
import { readTime, timeForms } from '../proxy/admin/time.ts'
import { type AdminAddress, adminFlags, fetchJson, findAdmin, type Reach, reachText } from './admin-client.ts'
import { type Command, type CommandIo, complain, type Given, json, misuse } from './command.ts'
import { exitCode, type Failure } from './exit-codes.ts'
import { nameProxy } from './proxy-identity.ts'
import { shapeText } from './shape-text.ts'
import { counted, oneLine, shorten, tableLines } from './text.ts'

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
  readonly dryRun: boolean
  readonly shapes: number
  readonly buckets: number
  readonly selection: Readonly<Record<string, unknown>>
  /** A remark about it. */
  readonly note?: string
  /** Where the store is shared. */
  readonly reach?: Reach
  readonly examples?: readonly {
    readonly key: string
    readonly text: string
    readonly backend: string
    readonly buckets: number
  }[]
}

type Selection = Readonly<Record<string, string | true>>

async function run(given: Given, io: CommandIo): Promise<number> {
  const selection = oddTime(given, io) ?? selectionOf(given)
  if (typeof selection === 'string') return misuse(words, selection, io)
  const address = await findAdmin(given, io)
  if ('code' in address) return complain(io, address)
  const unnamed = await nameProxy(address, io)
  if (unnamed !== undefined) return complain(io, unnamed)
  const desk = new Desk(address, selection, { io, isJson: given.has('json') })
  if (given.has('yes') && !given.has('dry-run')) return desk.purge()
  const counted = await desk.count()
  if ('code' in counted) return complain(io, counted)
  if (given.has('dry-run')) return exitCode.ok
  return confirmed(desk, counted, io)
}

async function confirmed(desk: Desk, { buckets }: PurgeAnswer, io: CommandIo): Promise<number> {
  if (io.confirm === undefined) {
    io.err('windowpane: nothing was purged; add --yes to purge without confirmation\n')
    return exitCode.unconfirmed
  }
  if (await io.confirm(`Purge ${counted(buckets, 'bucket')}?`)) return desk.purge()
  io.err('windowpane: nothing was purged\n')
  return exitCode.unconfirmed
}

/** Reported here, by the flag that was typed. */
function oddTime(given: Given, { clock }: CommandIo): string | undefined {
  const odd = ['from', 'to'].find((name) => {
    const value = given.flag(name)
    return value !== undefined && readTime(value, clock.now()) === undefined
  })
  return odd && `--${odd} ${oneLine(given.flag(odd)!)}: expected ${timeForms}`
}

const fields = ['backend', 'shape', 'source', 'from', 'to'] as const

function selectionOf(given: Given): Selection | string {
  if (given.positionals.length > 0)
    return `"${given.positionals[0]}" is not understood; select the data with flags`
  if (given.has('source') && given.has('metric')) return '--source and --metric mean the same: give one'
  const source = given.flag('source') ?? given.flag('metric')
  const chosen = fields.map((name) => [name, name === 'source' ? source : given.flag(name)] as const)
  const selection = Object.fromEntries(
    chosen.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  if (given.has('all') && Object.keys(selection).length > 0) return '--all means everything: give it alone'
  if (given.has('all')) return { all: true }
  if (Object.keys(selection).length > 0) return selection
  return 'select the data to purge: --backend, --shape, --source, --from, --to, or --all for everything'
}

class Desk {
  readonly #address: AdminAddress
  readonly #body: string
  readonly #io: CommandIo
  readonly #isJson: boolean

  constructor(
    address: AdminAddress,
    selection: Selection,
    { io, isJson }: { io: CommandIo; isJson: boolean },
  ) {
    this.#address = address
    this.#body = JSON.stringify(selection)
    this.#io = io
    this.#isJson = isJson
  }

  /** Shows the buckets that would be purged. */
  async count(): Promise<PurgeAnswer | Failure> {
    const answer = await this.#ask('/-/purge?dryRun=1')
    if ('code' in answer) return answer
    this.#show(answer, `Selected: ${amountOf(answer)}.`)
    return answer
  }

  async purge(): Promise<number> {
    const answer = await this.#ask('/-/purge')
    if ('code' in answer) return complain(this.#io, answer)
    this.#show(answer, `Purged ${amountOf(answer)}${reachText(answer.reach).replace(/,$/, '')}.`)
    if (answer.note !== undefined) this.#io.err(`windowpane: ${oneLine(answer.note)}\n`)
    return exitCode.ok
  }

  async #ask(path: string): Promise<PurgeAnswer | Failure> {
    const question = { io: this.#io, method: 'POST', body: this.#body, type: 'application/json' } as const
    const answer = await fetchJson<PurgeAnswer>(this.#address, path, question)
    return 'code' in answer ? answer : answer.data
  }

  #show(answer: PurgeAnswer, sentence: string): void {
    const { out, terminal } = this.#io
    const { examples = [] } = answer
    out(this.#isJson ? json(answer) : `${sentence}\n`)
    if (this.#isJson || !answer.dryRun || examples.length === 0) return
    const columns = [{ head: 'buckets', isNumber: true }, { head: 'backend' }, { head: 'shape' }]
    const rows = examples.map(({ buckets, backend, text }) => [
      buckets.toLocaleString('en-US'),
      oneLine(backend),
      shapeText(text),
    ])
    const lines = tableLines(columns, rows).map((line) =>
      shorten(line, terminal?.columns() ?? Number.POSITIVE_INFINITY),
    )
    out(`${lines.join('\n')}\n`)
    if (answer.shapes > examples.length)
      out(`and ${counted(answer.shapes - examples.length, 'more shape')}\n`)
  }
}

const amountOf = ({ shapes, buckets, selection }: PurgeAnswer): string =>
  `${counted(buckets, 'bucket')} of ${counted(shapes, 'shape')} (${selectionText(selection)})`

const selectionText = (selection: PurgeAnswer['selection']): string =>
  Object.entries(selection)
    .map(([name, value]) => (value === true ? name : `${name} ${oneLine(String(value))}`))
    .join(', ')

export const purge: Command = { words, run }

/** `/-/purge` and `/-/marks`: what is no longer to be used from now on, and what was said so before. */
import type { Clock, EpochMs } from '../../core/clock.ts'
import type { Mark } from '../../core/mark.ts'
import type { Purge, PurgeReport, Selection } from '../../engine/purge/purge.ts'
import type { PurgeCount } from '../../engine/purge/tally.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { bounded, iso } from '../../telemetry/texts.ts'
import { type AdminAnswer, json, jsonList, mistake } from './answer.ts'
import { type FleetAccess, reachOf } from './fleet.ts'
import type { AdminCall, Page } from './pages.ts'
import { readTime, timeForms } from './time.ts'

export interface PurgeAccess extends FleetAccess {
  readonly purge?: Pick<Purge, 'backends' | 'count' | 'run' | 'marks' | 'isShared'> | undefined
  readonly clock: Clock
  readonly telemetry: Telemetry
}

/** The longest name or text that can be purged by; longer shapes have keys. */
const maxNameBytes = 8192
const maxExampleChars = 1024

export function purgePages({ purge, ...access }: PurgeAccess): ReadonlyMap<string, Page> {
  if (purge === undefined) return new Map()
  const desk = new PurgeDesk(purge, access)
  return new Map<string, Page>([
    [
      '/-/purge',
      {
        methods: ['POST'],
        about:
          'purges by {"backend", "shape", "source", "from", "to"} or {"all": true}; ?dryRun=1 only counts',
        // Only what is clearly a dry run is one.
        isWriting: (parameters) => dryRunOf(parameters) !== true,
        answer: (call) => desk.answer(call),
      },
    ],
    [
      '/-/marks',
      {
        methods: ['GET'],
        about: 'what was purged or marked as changed, as far as it is still in force',
        answer: () => jsonList(purge.marks().map(viewOfMark)),
      },
    ],
  ])
}

function dryRunOf(parameters: URLSearchParams): boolean | undefined {
  const given = parameters.get('dryRun') ?? '0'
  if (given === '1' || given === 'true') return true
  return given === '0' || given === 'false' ? false : undefined
}

class PurgeDesk {
  readonly #purge: NonNullable<PurgeAccess['purge']>
  readonly #access: Omit<PurgeAccess, 'purge'>

  constructor(purge: NonNullable<PurgeAccess['purge']>, access: Omit<PurgeAccess, 'purge'>) {
    this.#purge = purge
    this.#access = access
  }

  async answer({ parameters, body }: AdminCall): Promise<AdminAnswer> {
    const isDry = dryRunOf(parameters)
    if (isDry === undefined) return mistake('dryRun is 1 or 0')
    const selection = readSelection(body, this.#access.clock.now())
    if ('mistake' in selection) return mistake(selection.mistake)
    const { backends } = this.#purge
    if (selection.backend !== undefined && !backends.includes(selection.backend)) {
      return mistake(`there is no backend "${selection.backend}"; there are: ${backends.join(', ')}`)
    }
    const report = isDry ? await this.#purge.count(selection) : await this.#purge.run(selection)
    if (!isDry) this.#log(selection, report)
    const isShared = this.#purge.isShared(selection) && !('isKept' in report && !report.isKept)
    return json({ ...viewOf(selection, report), ...(await reachOf(this.#access, isShared)) })
  }

  #log(selection: Selection, { shapes, buckets }: PurgeCount): void {
    this.#access.telemetry.log.line('info', 'purged', { ...viewOfSelection(selection), shapes, buckets })
  }
}

function viewOf(selection: Selection, report: PurgeCount | PurgeReport): object {
  const { at, shapes, buckets } = report
  const examples = report.examples.map((shape) => ({ ...shape, text: bounded(shape.text, maxExampleChars) }))
  const kept = 'isKept' in report ? { durable: report.isKept } : {}
  const note = kept.durable === false ? { note: notKept } : {}
  return {
    ...{ dryRun: !('isKept' in report), at: iso(at), shapes, buckets },
    ...{ selection: viewOfSelection(selection), ...kept, ...note, examples },
  }
}

const notKept =
  'The store could not keep the mark: the purge holds in this process until it ends, and not in others. Purge again when the store is well.'

const viewOfSelection = (selection: Selection): object => {
  const { from, to, ...names } = selection
  const isAll = Object.keys(selection).length === 0
  return { ...names, ...viewOfSpan(from, to), ...(isAll && { all: true }) }
}

const viewOfMark = ({ from, to, at, ...rest }: Mark): object => ({
  ...rest,
  ...viewOfSpan(from, to),
  at: iso(at),
})

const viewOfSpan = (from: EpochMs | undefined, to: EpochMs | undefined): object => ({
  ...(isInstant(from) && { from: iso(from) }),
  ...(isInstant(to) && { to: iso(to) }),
})

const isInstant = (value: EpochMs | undefined): value is EpochMs => Number.isFinite(value)

const names = ['backend', 'shape', 'source'] as const
const times = ['from', 'to'] as const
const known: readonly string[] = [...names, ...times, 'all']

function readSelection(body: Buffer, now: EpochMs): Selection | { readonly mistake: string } {
  const given = readObject(body)
  if ('mistake' in given) return given
  const { fields } = given
  const selection: Record<string, string | number> = {}
  for (const name of names) {
    const value = fields[name]
    if (value === undefined) continue
    if (typeof value !== 'string' || value === '') return { mistake: `"${name}" is not a text` }
    if (Buffer.byteLength(value) > maxNameBytes) return { mistake: tooLong(name) }
    selection[name] = value
  }
  for (const name of times) {
    if (fields[name] === undefined) continue
    const at = readTime(fields[name], now)
    if (at === undefined) return { mistake: `"${name}" is not a time; times are ${timeForms}` }
    selection[name] = at
  }
  return checked(selection, fields['all'])
}

const tooLong = (name: string): string =>
  `"${name}" has more than ${maxNameBytes} bytes; name a shape by its key instead (/-/shapes lists them)`

function checked(selection: Selection, all: unknown): Selection | { readonly mistake: string } {
  if (all !== undefined && typeof all !== 'boolean') return { mistake: '"all" is true or false' }
  const isSelective = Object.keys(selection).length > 0
  if (all === true && isSelective) return { mistake: '"all" means everything: give it alone' }
  const { from, to } = selection
  if (from !== undefined && to !== undefined && from >= to) return { mistake: '"from" must lie before "to"' }
  if (isSelective || all === true) return selection
  return { mistake: `say what to purge: one or more of ${known.slice(0, -1).join(', ')}, or "all": true` }
}

function readObject(
  body: Buffer,
): { readonly fields: Record<string, unknown> } | { readonly mistake: string } {
  const expected = `expected an object with ${known.join(', ')}`
  let given: unknown
  try {
    given = JSON.parse(body.toString())
  } catch {
    return { mistake: `the body is not JSON; ${expected}` }
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return { mistake: expected }
  const stranger = Object.keys(given).find((name) => !known.includes(name))
  if (stranger !== undefined) return { mistake: `"${stranger}" is not known; ${expected}` }
  return { fields: given as Record<string, unknown> }
}

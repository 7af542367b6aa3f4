/** `/-/purge` and `/-/changed` mark data that must not be used from now on; `/-/marks` lists the marks. */
import type { Clock, EpochMs } from '../../core/clock.ts'
import type { Mark } from '../../core/mark.ts'
import { iso, shorten } from '../../core/text.ts'
import type { Purge, PurgeReport, Selection } from '../../engine/purge/purge.ts'
import type { PurgeCount } from '../../engine/purge/tally.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { type AdminAnswer, json, jsonList, mistake } from './answer.ts'
import { markChanged } from './changed.ts'
import { type FleetAccess, reachOf } from './fleet.ts'
import { type AdminCall, change, get, type Pages, post } from './page.ts'
import {
  onlyHere,
  readObject,
  readSelection,
  unknownBackend,
  viewOfSelection,
  viewOfSpan,
} from './selection.ts'

export interface PurgeAccess extends FleetAccess {
  /** Where there is something to purge. */
  readonly purge?:
    | Pick<Purge, 'backends' | 'count' | 'run' | 'markChanged' | 'marks' | 'isShared'>
    | undefined
  readonly clock: Clock
  readonly telemetry: Telemetry
}

const maxExampleChars = 1024

export function purgePages({ purge, ...access }: PurgeAccess): Pages {
  if (purge === undefined) return {}
  return {
    '/-/purge': {
      ...post(
        'purges by {"backend", "shape", "source", "from", "to"} or {"all": true}; ?dryRun=1 only counts',
        (call) => answer(purge, access, call),
      ),
      // Only an explicit dry run is one.
      isWriting: (parameters) => dryRunOf(parameters) !== true,
    },
    '/-/changed': change(
      'marks data as changed, by {"backend", "source", "from", "to"}: stored buckets of it are fetched again, and served only while the database does not answer',
      ({ body }) => markChanged(purge, access, body),
    ),
    '/-/marks': get('the purges and change marks that are still in force', () =>
      jsonList(purge.marks().map(viewOfMark)),
    ),
  }
}

function dryRunOf(parameters: URLSearchParams): boolean | undefined {
  const given = parameters.get('dryRun') ?? '0'
  if (given === '1' || given === 'true') return true
  return given === '0' || given === 'false' ? false : undefined
}

async function answer(
  purge: NonNullable<PurgeAccess['purge']>,
  access: Omit<PurgeAccess, 'purge'>,
  { parameters, body }: AdminCall,
): Promise<AdminAnswer> {
  const isDry = dryRunOf(parameters)
  if (isDry === undefined) return mistake('dryRun is 1 or 0')
  const selection = readPurge(body, access.clock.now())
  if ('mistake' in selection) return mistake(selection.mistake)
  const { backends } = purge
  if (selection.backend !== undefined && !backends.includes(selection.backend)) {
    return mistake(unknownBackend(selection.backend, backends))
  }
  const report = isDry ? await purge.count(selection) : await purge.run(selection)
  const { shapes, buckets } = report
  if (!isDry) access.telemetry.log.line('info', 'purged', { ...viewOfSelection(selection), shapes, buckets })
  const isShared = purge.isShared(selection) && !('isKept' in report && !report.isKept)
  return json({ ...viewOf(selection, report), ...(await reachOf(access, isShared)) })
}

function viewOf(selection: Selection, report: PurgeCount | PurgeReport): object {
  const { at, shapes, buckets } = report
  const examples = report.examples.map((shape) => ({ ...shape, text: shorten(shape.text, maxExampleChars) }))
  const kept = 'isKept' in report ? { durable: report.isKept } : {}
  const note = kept.durable === false ? { note: notKept } : {}
  return {
    ...{ dryRun: !('isKept' in report), at: iso(at), shapes, buckets },
    ...{ selection: viewOfSelection(selection), ...kept, ...note, examples },
  }
}

const notKept = `${onlyHere} Purge again when the store is well.`

const viewOfMark = ({ from, to, at, ...rest }: Mark): object => ({
  ...rest,
  ...viewOfSpan(from, to),
  at: iso(at),
})

const known = ['backend', 'shape', 'source', 'from', 'to', 'all'] as const

function readPurge(body: Buffer, now: EpochMs): Selection | { readonly mistake: string } {
  const given = readObject(body, known)
  if ('mistake' in given) return given
  const selection = readSelection(given.fields, now)
  return 'mistake' in selection ? selection : checked(selection, given.fields['all'])
}

function checked(selection: Selection, all: unknown): Selection | { readonly mistake: string } {
  if (all !== undefined && typeof all !== 'boolean') return { mistake: '"all" is true or false' }
  const isSelective = Object.keys(selection).length > 0
  if (all === true && isSelective) return { mistake: '"all" means everything: give it alone' }
  if (isSelective || all === true) return selection
  return {
    mistake: `name the data to purge: one or more of ${known.slice(0, -1).join(', ')}, or "all": true`,
  }
}

/** `/-/shadow`, `/-/shadow/ID` and `/-/mode`: what shadow mode has found out, and switching modes while running. */
import type { BucketDifference } from '../../engine/shadow/compare.ts'
import type { Mismatch, ShadowLog, ShadowReport } from '../../engine/shadow/log.ts'
import { iso } from '../../telemetry/texts.ts'
import { type Mode, type ModeState, modes } from '../request/settings.ts'
import { type AdminAnswer, json, mistake, text } from './answer.ts'
import type { AdminCall, Page } from './pages.ts'

export interface ShadowAccess {
  readonly log: Pick<ShadowLog, 'report' | 'find'>
  /** By the names of the databases. */
  readonly modes: ReadonlyMap<string, SwitchableMode>
}

export interface SwitchableMode {
  readonly state: ModeState
  /** Resolves, once it is in force, to the mode that was. */
  set(mode: Mode): Mode | Promise<Mode>
}

const folder = '/-/shadow/'

export function shadowPages(access: ShadowAccess | undefined): ReadonlyMap<string, Page> {
  if (access === undefined) return new Map()
  return new Map<string, Page>([
    [
      '/-/shadow',
      {
        methods: ['GET'],
        about:
          'what shadow mode has found out: counts, verdict, mismatches; /-/shadow/ID: one with its bodies',
        answer: () => json({ backends: [...access.modes].map(([name, mode]) => viewOf(access, name, mode)) }),
      },
    ],
    [folder, { methods: ['GET'], about: '', isFolder: true, answer: (call) => mismatchAt(access, call) }],
    [
      '/-/mode',
      {
        methods: ['POST'],
        about: 'switches a backend: {"backend": name, "mode": "off|shadow|on"}, until the next reload',
        isWriting: true,
        answer: ({ body }) => switchMode(access, body),
      },
    ],
  ])
}

function viewOf({ log }: ShadowAccess, backend: string, { state }: SwitchableMode): object {
  const report: ShadowReport = log.report(backend)
  const { comparisons, equal, explained, unexplained, skipped, causes, wouldBe, verdict, sentence } = report
  return {
    ...{ backend, mode: state.mode, since: iso(report.since) },
    ...{ comparisons, equal, explained, unexplained, skipped, causes, verdict, sentence, wouldBe },
    mismatches: report.mismatches.map(viewOfMismatch),
  }
}

function viewOfMismatch(mismatch: Mismatch): object {
  const { id, at, backend, text: query, window, cause, isExplained, sentence } = mismatch
  const { buckets, cachedBytes, directBytes } = mismatch
  return {
    ...{ id, at: iso(at), backend, text: query },
    window: { from: iso(window.from), to: iso(window.to), step: window.step },
    ...{ cause, explained: isExplained, sentence },
    buckets: buckets.map(viewOfBucket),
    ...{ cachedBytes, directBytes },
  }
}

const viewOfBucket = ({ at, fetchedAt, ...rest }: BucketDifference): object => ({
  at: iso(at),
  fetchedAt: iso(fetchedAt),
  ...rest,
})

function mismatchAt({ log }: ShadowAccess, { path }: AdminCall): AdminAnswer {
  const found = log.find(path.slice(folder.length))
  if (found === undefined)
    return text(404, 'windowpane: there is no such mismatch, or it had to make room; /-/shadow lists them')
  const { cached, direct } = found
  return json({
    ...viewOfMismatch(found),
    cached: cached?.toString() ?? null,
    direct: direct?.toString() ?? null,
  })
}

async function switchMode({ modes: known }: ShadowAccess, body: Buffer): Promise<AdminAnswer> {
  const given = readSwitch(body)
  if ('mistake' in given) return mistake(given.mistake)
  const { backend, mode } = given
  const found = known.get(backend)
  if (found === undefined)
    return mistake(`there is no backend "${backend}"; there are: ${[...known.keys()].join(', ')}`)
  return json({ backend, mode, was: await found.set(mode) })
}

function readSwitch(body: Buffer): { backend: string; mode: Mode } | { mistake: string } {
  const expected = `expected {"backend": name, "mode": one of ${modes.join(', ')}}`
  let given: unknown
  try {
    given = JSON.parse(body.toString())
  } catch {
    return { mistake: `the body is not JSON; ${expected}` }
  }
  if (typeof given !== 'object' || given === null) return { mistake: expected }
  const { backend, mode, ...others } = given as Record<string, unknown>
  const isMode = (value: unknown): value is Mode => modes.includes(value as Mode)
  if (typeof backend !== 'string' || !isMode(mode) || Object.keys(others).length > 0) {
    return { mistake: expected }
  }
  return { backend, mode }
}

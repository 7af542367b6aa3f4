/** `/-/shadow`, `/-/shadow/ID` and `/-/mode`: the findings of shadow mode, and switching modes while running. */
import { readJsonObject } from '../../core/json-object.ts'
import { iso } from '../../core/text.ts'
import type { BucketDifference } from '../../engine/shadow/compare.ts'
import { type Figures, type Mismatch, newFigures, type ShadowLog } from '../../engine/shadow/log.ts'
import { verdictOf } from '../../engine/shadow/verdict.ts'
import type { FleetNode } from '../fleet/fleet.ts'
import { mergeFigures } from '../fleet/merge.ts'
import type { ShadowExample } from '../fleet/summary.ts'
import { type Mode, type ModeState, modes } from '../request/settings.ts'
import { type AdminAnswer, failure, json, mistake } from './answer.ts'
import { chooseNodes, type FleetAccess, reachOf } from './fleet.ts'
import { type AdminCall, change, get, type Pages } from './page.ts'
import { unknownBackend } from './selection.ts'

export interface ShadowAccess {
  readonly log: Pick<ShadowLog, 'report' | 'find'>
  /** By the names of the databases. */
  readonly modes: ReadonlyMap<string, SwitchableMode>
}

export interface SwitchableMode {
  readonly state: ModeState
  /** Resolves once it is in force in this process. */
  set(mode: Mode): Promise<ModeChange>
}

export interface ModeChange {
  readonly was: Mode
  /** Whether other nodes will take it over; undefined where the store of the backend is not shared. */
  readonly isShared: boolean | undefined
}

const folder = '/-/shadow/'

export interface ShadowPagesOptions extends FleetAccess {
  /** Modes, and the findings of shadow mode. */
  readonly shadow?: ShadowAccess | undefined
}

export function shadowPages({ shadow: access, fleet }: ShadowPagesOptions): Pages {
  if (access === undefined) return {}
  return {
    '/-/shadow': get(
      'the findings of shadow mode at all nodes that share a store: counts, verdict, mismatches; ?node=; /-/shadow/ID: one with its bodies',
      ({ parameters }) => report(access, { fleet }, parameters),
    ),
    [folder]: { ...get('', (call) => mismatchAt(access, call)), isFolder: true },
    '/-/mode': change(
      'switches a backend, at all nodes that share its store: {"backend": name, "mode": "off|shadow|on"}, until the next reload',
      ({ body }) => switchMode(access, { fleet }, body),
    ),
  }
}

async function report(
  access: ShadowAccess,
  fleet: FleetAccess,
  parameters: URLSearchParams,
): Promise<AdminAnswer> {
  const chosen = await chooseNodes(fleet, parameters)
  if ('mistake' in chosen) return mistake(chosen.mistake)
  const { nodes, trouble } = chosen
  const isOwn = nodes.every(({ isSelf }) => isSelf)
  const backends = isOwn
    ? [...access.modes].map(([name, { state }]) => viewOf(name, state.mode, ownFindings(access, name)))
    : backendsOf(nodes).map((name) => viewOfNodes(name, findingsOf(access, nodes, name)))
  return json({ backends, ...(trouble !== undefined && { note: trouble }) })
}

interface Findings {
  readonly node: string
  readonly mode: string
  readonly figures: Readonly<Figures>
  readonly mismatches: readonly MismatchView[]
}

/** One answer that differed. `node`: where the report is about several; the bodies: where it is about this one alone. */
export type MismatchView = ReturnType<typeof viewOfMismatch> & {
  readonly node?: string
  readonly cached?: string | null
  readonly direct?: string | null
}

/** The findings about one backend. `nodes`: where they are of several. */
export type ShadowView = ReturnType<typeof viewOf> & Partial<Pick<ReturnType<typeof viewOfNodes>, 'nodes'>>

const ownFindings = ({ log }: ShadowAccess, backend: string): Pick<Findings, 'figures' | 'mismatches'> => {
  const figures = log.report(backend)
  return { figures, mismatches: figures.mismatches.map(viewOfMismatch) }
}

const backendsOf = (nodes: readonly FleetNode[]): readonly string[] => [
  ...new Set(nodes.flatMap(({ summary }) => summary?.backends.map(({ name }) => name) ?? [])),
]

function findingsOf(access: ShadowAccess, nodes: readonly FleetNode[], backend: string): readonly Findings[] {
  return nodes.flatMap(({ name: node, isSelf, summary }) => {
    const here = summary?.backends.find(({ name }) => name === backend)
    if (here === undefined) return []
    const { mode, shadow } = here
    if (isSelf) {
      const { figures, mismatches } = ownFindings(access, backend)
      return [{ node, mode, figures, mismatches: mismatches.map((each) => ({ ...each, node })) }]
    }
    const figures = shadow?.figures ?? newFigures(summary!.at)
    const mismatches = shadow?.examples.map((each) => viewOfExample(each, node)) ?? []
    return [{ node, mode, figures, mismatches }]
  })
}

function viewOf(
  backend: string,
  mode: string,
  { figures, mismatches }: Pick<Findings, 'figures' | 'mismatches'>,
) {
  const { comparisons, equal, explained, unexplained, skipped, causes, wouldBe } = figures
  const { verdict, sentence } = verdictOf(figures)
  return {
    ...{ backend, mode, since: iso(figures.since) },
    ...{ comparisons, equal, explained, unexplained, skipped, causes, verdict, sentence, wouldBe },
    mismatches,
  }
}

/** Counts are added up; the verdict is about all of them. */
function viewOfNodes(backend: string, findings: readonly Findings[]) {
  const figures = mergeFigures(findings.map((each) => each.figures))
  const mismatches = findings.flatMap((each) => each.mismatches)
  const modesThere = [...new Set(findings.map(({ mode }) => mode))]
  return {
    ...viewOf(backend, modesThere.join(', '), { figures, mismatches }),
    nodes: findings.map(({ node, mode, figures: { comparisons, unexplained } }) => ({
      ...{ node, mode, comparisons, unexplained },
    })),
  }
}

/** Its buckets and bodies are at the node that has seen it. */
const viewOfExample = (example: ShadowExample, node: string): MismatchView => ({
  ...viewOfMismatch({ ...example, ...nothingKept, id: `${example.id}@${node}` }),
  node,
})

const nothingKept = { buckets: [], cachedBytes: 0, directBytes: 0, cached: undefined, direct: undefined }

function viewOfMismatch(mismatch: Mismatch) {
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

const viewOfBucket = ({ at, fetchedAt, ...rest }: BucketDifference) => ({
  at: iso(at),
  fetchedAt: iso(fetchedAt),
  ...rest,
})

function mismatchAt({ log }: ShadowAccess, { path }: AdminCall): AdminAnswer {
  const id = path.slice(folder.length)
  const found = log.find(id)
  if (/^\d+(?:@|%40)/i.test(id)) return failure(404, atAnotherNode)
  if (found === undefined) return failure(404, notKept)
  const { cached, direct } = found
  return json({
    ...viewOfMismatch(found),
    cached: cached?.toString() ?? null,
    direct: direct?.toString() ?? null,
  } satisfies MismatchView)
}

const atAnotherNode = 'another node has it: query the admin listener of that node for the number before the @'
const notKept = 'there is no such mismatch, or it had to make room; /-/shadow lists them'

async function switchMode(
  { modes: known }: ShadowAccess,
  fleet: FleetAccess,
  body: Buffer,
): Promise<AdminAnswer> {
  const given = readSwitch(body)
  if ('mistake' in given) return mistake(given.mistake)
  const { backend, mode } = given
  const found = known.get(backend)
  if (found === undefined) return mistake(unknownBackend(backend, [...known.keys()]))
  const { was, isShared } = await found.set(mode)
  const reach = await reachOf(fleet, isShared === true)
  const { heldBack } = found.state
  const notes = [
    ...(isShared === false ? [notShared] : []),
    ...(heldBack === undefined ? [] : [`It stays in shadow mode for now: ${heldBack}.`]),
  ]
  return json({ backend, mode, was, ...reach, ...(notes.length > 0 && { note: notes.join(' ') }) })
}

const notShared =
  'The shared store does not answer: the mode holds at this node, and at the others when the store is back.'

function readSwitch(body: Buffer): { backend: string; mode: Mode } | { mistake: string } {
  const expected = `expected {"backend": name, "mode": one of ${modes.join(', ')}}`
  const given = readJsonObject(body.toString(), ['backend', 'mode'])
  if (given.kind === 'not_json') return { mistake: `the body is not JSON; ${expected}` }
  if (given.kind !== 'object') return { mistake: expected }
  const { backend, mode } = given.fields
  const isMode = (value: unknown): value is Mode => modes.includes(value as Mode)
  return typeof backend === 'string' && isMode(mode) ? { backend, mode } : { mistake: expected }
}

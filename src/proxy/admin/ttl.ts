/** `/-/ttl` and `/-/ttl/learn`: the TTLs at each age with their evidence, and learning from recorded history. */
import type { Clock } from '../../core/clock.ts'
import type { NotSampled, Sampled, SamplingOrder } from '../../engine/learning/sampling.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { readHistory, refetchesOf } from '../../ttl/history.ts'
import type { LearnedShape, Learning } from '../../ttl/learned/learning.ts'
import { type TtlReport, ttlReport } from '../../ttl/ttl-report.ts'
import type { NamedPolicy } from '../request/settings.ts'
import { type AdminAnswer, json, jsonList, mistake } from './answer.ts'
import { type AdminCall, change, get, type Pages } from './page.ts'
import { unknownBackend } from './selection.ts'
import { readSpan } from './time.ts'

export interface TtlAccess {
  /** The TTLs of each database, and the learned rates; by name. */
  readonly ttl?: (() => ReadonlyMap<string, TtlDatabase>) | undefined
  readonly clock: Pick<Clock, 'now'>
  readonly telemetry: Pick<Telemetry, 'log'>
}

export interface TtlDatabase {
  /** That of the database, and those of rules that have another one. */
  readonly policies: readonly NamedPolicy[]
  readonly learning: Learning | undefined
  /** By key, or by the text of the shape or of its query; names that no shape has are not in it. */
  shapesNamed(names: ReadonlySet<string>): Promise<ReadonlyMap<string, LearnedShape>>
  /** Fetches buckets of recently requested shapes twice, and learns from the differences. */
  sample(order: SamplingOrder): Promise<Sampled | NotSampled>
}

/** One entry of the answer. */
export interface BackendTtl extends TtlReport {
  readonly backend: string
  readonly rule?: string
  /** The key of the shape, where one was requested. */
  readonly shape?: string
}

export interface Learnt extends Sampled {
  readonly backend: string
}

const maxHistoryBytes = 16 * 1024 * 1024

export function ttlPages({ ttl, ...access }: TtlAccess): Pages {
  if (ttl === undefined) return {}
  return {
    '/-/ttl': get(
      'per backend the TTL at each age, the change rate that it is made of, and the measured staleness; ?backend= &shape=',
      ({ parameters }) => report(ttl(), parameters),
    ),
    '/-/ttl/learn': {
      ...change(
        'learns from JSON lines {"shape", "age", "gap", "changed"}, in seconds; without a body from buckets that are fetched twice, ?gap=60s apart; ?samples= &backend=',
        (call) => learn(ttl(), access, call),
      ),
      maxBodyBytes: maxHistoryBytes,
    },
  }
}

type Databases = ReadonlyMap<string, TtlDatabase>

async function report(databases: Databases, parameters: URLSearchParams): Promise<AdminAnswer> {
  const wanted = parameters.get('backend')
  if (wanted !== null && !databases.has(wanted)) return mistake(unknownBackend(wanted, [...databases.keys()]))
  const name = parameters.get('shape')
  const chosen = [...databases].filter(([backend]) => wanted === null || backend === wanted)
  const reports: BackendTtl[] = []
  for (const [backend, database] of chosen) {
    const shape = name === null ? undefined : (await database.shapesNamed(new Set([name]))).get(name)
    if (name !== null && shape === undefined) continue
    for (const { rule, policy } of database.policies) {
      const named = { ...(rule !== undefined && { rule }), ...(shape && { shape: shape.key }) }
      reports.push({ backend, ...named, ...ttlReport(policy, database.learning, shape) })
    }
  }
  if (reports.length === 0) return mistake(`there is no shape "${name}"; /-/shapes lists the known ones`)
  return jsonList(reports)
}

async function learn(
  databases: Databases,
  { clock, telemetry }: Omit<TtlAccess, 'ttl'>,
  { parameters, body }: AdminCall,
): Promise<AdminAnswer> {
  const database = learningOf(databases, parameters.get('backend'))
  if ('mistake' in database) return mistake(database.mistake)
  const { backend, learning, shapesNamed } = database
  if (body.length === 0) return sampled(database, parameters, telemetry)
  const rows = readHistory(body.toString())
  if ('mistake' in rows) return mistake(`line ${rows.line} ${rows.mistake}; nothing was learned`)
  if (rows.length === 0) return mistake('the body has only empty lines; nothing was learned')
  const names = new Set(rows.map(({ shape }) => shape))
  const shapes = await shapesNamed(names)
  // A shape without requests yet teaches the backend as a whole.
  const shapeOf = (name: string): LearnedShape => shapes.get(name) ?? { key: name, sources: [] }
  for (const refetch of refetchesOf(rows, shapeOf, clock.now())) learning.observe(refetch)
  const changed = rows.filter((row) => row.changed).length
  const learnt = { backend, observations: rows.length, changed, shapes: names.size } satisfies Learnt
  telemetry.log.line('info', 'learned from history', { ...learnt })
  return json(learnt)
}

const maxGapMs = 3_600_000
const maxSamples = 10_000

async function sampled(
  { backend, sample }: LearningDatabase,
  parameters: URLSearchParams,
  { log }: TtlAccess['telemetry'],
): Promise<AdminAnswer> {
  const gapMs = readSpan(parameters.get('gap') ?? '60s')
  if (gapMs === undefined || gapMs < 1000 || gapMs > maxGapMs) return mistake('gap is a time from 1s to 1h')
  const samples = Number(parameters.get('samples') ?? 100)
  if (!Number.isInteger(samples) || samples < 1 || samples > maxSamples)
    return mistake(`samples is a whole number from 1 to ${maxSamples}`)
  const result = await sample({ gapMs, samples })
  if (typeof result === 'string') return mistake(notSampled[result])
  const learnt = { backend, ...result } satisfies Learnt
  log.line('info', 'learned from samples', learnt)
  return json(learnt)
}

const notSampled: Readonly<Record<NotSampled, string>> = {
  busy: 'samples are being taken already',
  idle: 'no shape can be sampled: none that learns was fetched within the last ten minutes',
}

interface LearningDatabase extends TtlDatabase {
  readonly backend: string
  readonly learning: Learning
}

function learningOf(databases: Databases, wanted: string | null): LearningDatabase | { mistake: string } {
  const names = [...databases.keys()]
  const backend = wanted ?? (names.length === 1 ? names[0]! : undefined)
  if (backend === undefined) return { mistake: `name the backend, one of: ${names.join(', ')}` }
  const database = databases.get(backend)
  if (database === undefined) return { mistake: unknownBackend(backend, names) }
  const { learning, policies } = database
  if (learning === undefined || policies.every(({ policy }) => policy.learns === undefined)) {
    return { mistake: `no policy of the backend "${backend}" learns: set one with type: learned` }
  }
  return { ...database, backend, learning }
}

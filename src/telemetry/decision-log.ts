/**
 * One line per decision at debug. At info a sample: the first of every outcome and reason, and then at most one every
 * ten seconds, with the number of decisions it stands for. An outage is logged once when it begins and once when it
 * ends.
 */
import type { Clock } from '../core/clock.ts'
import { iso } from '../core/text.ts'
import { outcomeReasons, pairOf } from './labels.ts'
import type { Log, LogFields } from './log.ts'
import { bucketsOf, type RequestRecord } from './record.ts'

const sampleEveryMs = 10_000

export class DecisionLog {
  readonly #log: Log
  readonly #clock: Clock
  /** Per outcome and reason: when the next line is due, and how many were left out since the last. */
  readonly #due = new Float64Array(outcomeReasons.length)
  readonly #skipped = new Float64Array(outcomeReasons.length)

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  observe(record: RequestRecord): void {
    this.#watchOutage(record)
    if (this.#log.isOn('debug')) this.#log.line('debug', 'request', fieldsOf(record))
    else if (this.#log.isOn('info')) this.#sample(record)
  }

  #sample(record: RequestRecord): void {
    const pair = pairOf(record.outcome, record.reason)
    // Not the wall clock: it may be set back.
    const now = this.#clock.elapsed()
    if (now < this.#due[pair]!) {
      this.#skipped[pair]!++
      return
    }
    const alike = this.#skipped[pair]!
    this.#due[pair] = now + sampleEveryMs
    this.#skipped[pair] = 0
    this.#log.line('info', 'request', { ...fieldsOf(record), ...(alike > 0 && { alike }) })
  }

  #watchOutage(record: RequestRecord): void {
    const { backend, reason, upstreamStatus } = record
    if (reason === 'database_unreachable' || reason === 'database_timeout') {
      const is = reason === 'database_timeout' ? 'does not answer in time' : 'cannot be reached'
      this.#log.change(`database ${backend}`, { is, isGood: false }, { detail: record.detail })
    } else if (upstreamStatus !== undefined) {
      this.#log.change(`database ${backend}`, { is: 'answers', isGood: true })
    }
  }
}

function fieldsOf(record: RequestRecord): LogFields {
  const { backend, method, outcome, reason, detail, shape, key, status, upstreamStatus, bytes, asked } =
    record
  const cached = bucketsOf(record, 'cache')
  return {
    ...{ backend, method, outcome, reason, detail, shape, key, status, upstreamStatus, bytes },
    ...(record.stepMs > 0 && {
      from: iso(record.from),
      to: iso(record.to),
      stepMs: record.stepMs,
      cached,
      asked,
    }),
    unstored: record.unstored,
    ageSeconds: record.ageSeconds,
    ttlSeconds: record.ttlSeconds,
    ms: Math.round(record.totalMs * 1000) / 1000,
  }
}

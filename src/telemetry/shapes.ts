import type { EpochMs } from '../core/clock.ts'
import { type Outcome, outcomes } from '../core/decision.ts'
import { indexOfOutcome } from './labels.ts'
import type { RequestRecord } from './record.ts'

/** Rows that agree in all but the phase, or in all but the key, are one question that shares no buckets. */
export interface ShapeRow
  extends Pick<RequestRecord, 'shape' | 'key' | 'backend' | 'stepMs' | 'phaseMs' | 'calendar'> {
  /** Since when the figures count. */
  readonly since: EpochMs
  readonly lastAt: EpochMs
  readonly count: number
  readonly outcomes: Partial<Record<Outcome, number>>
  readonly bytes: number
  readonly totalSeconds: number
  /** Hits, partial and stale answers against as many misses of mean duration; 0 while no miss was seen. */
  readonly savedSeconds: number
  /** Requests that queried the database, and how long it took. */
  readonly asked: number
  readonly askedSeconds: number
  /** Why it was not answered from the cache, the last time it was not. */
  readonly notCached: string | undefined
}

interface Entry {
  readonly id: string
  readonly first: RequestRecord
  lastAt: EpochMs
  bytes: number
  missMs: number
  servedMs: number
  otherMs: number
  asked: number
  askedMs: number
  notCached: string | undefined
  readonly counts: Uint32Array
}

const halvingMs = 3_600_000

export class TopShapes {
  readonly #entries: Entry[] = []
  readonly #places = new Map<string, number>()
  readonly #weights: Float64Array
  /** No weight is below this one; those at it are found from the cursor on. */
  #floor = 0
  #cursor = 0
  #halveAt = Number.NEGATIVE_INFINITY

  constructor(capacity = 1000) {
    this.#weights = new Float64Array(capacity)
  }

  get size(): number {
    return this.#entries.length
  }

  observe(record: RequestRecord): void {
    if (record.at >= this.#halveAt) this.#halve(record.at)
    const id = record.key ?? record.shape
    const place = this.#places.get(id) ?? this.#admit(id, record)
    this.#weights[place]!++
    count(this.#entries[place]!, record)
  }

  /** The most requested first. */
  list(limit: number): ShapeRow[] {
    return this.#entries
      .toSorted((a, b) => total(b) - total(a))
      .slice(0, limit)
      .map(rowOf)
  }

  #admit(id: string, record: RequestRecord): number {
    const isFull = this.#entries.length === this.#weights.length
    const place = isFull ? this.#weakest() : this.#entries.length
    const former = this.#entries[place]
    if (former !== undefined) this.#places.delete(former.id)
    this.#places.set(id, place)
    this.#entries[place] = newEntry(id, record)
    return place
  }

  /** Weights only rise between halvings, so each is passed once per floor: cheap also where every question is new. */
  #weakest(): number {
    for (;;) {
      for (; this.#cursor < this.#weights.length; this.#cursor++) {
        if (this.#weights[this.#cursor]! <= this.#floor) return this.#cursor
      }
      this.#cursor = 0
      this.#floor = this.#weights.reduce((a, b) => Math.min(a, b))
    }
  }

  #halve(now: EpochMs): void {
    if (this.#halveAt > Number.NEGATIVE_INFINITY) {
      for (let i = 0; i < this.#weights.length; i++) this.#weights[i]! /= 2
      this.#floor /= 2
    }
    this.#halveAt = now + halvingMs
  }
}

const newEntry = (id: string, first: RequestRecord): Entry => ({
  ...{ id, first, lastAt: first.at, bytes: 0, missMs: 0, servedMs: 0, otherMs: 0 },
  ...{ asked: 0, askedMs: 0, notCached: undefined },
  counts: new Uint32Array(outcomes.length),
})

function count(entry: Entry, record: RequestRecord): void {
  const { outcome, reason, totalMs } = record
  entry.counts[indexOfOutcome(outcome)]!++
  entry.lastAt = record.at
  entry.bytes += record.bytes
  if (record.isForwarded || record.asked > 0) {
    entry.asked++
    entry.askedMs += record.isForwarded ? totalMs : record.fetchMs
  }
  if (outcome === 'miss') entry.missMs += totalMs
  else if (outcome === 'hit' || outcome === 'partial' || outcome === 'stale') entry.servedMs += totalMs
  else entry.otherMs += totalMs
  if (outcome === 'bypass' || outcome === 'refused' || outcome === 'error') entry.notCached = reason
}

const total = ({ counts }: Entry): number => counts.reduce((a, b) => a + b)

function rowOf(entry: Entry): ShapeRow {
  const { first, counts, missMs, servedMs } = entry
  const of = (outcome: Outcome): number => counts[indexOfOutcome(outcome)]!
  const served = of('hit') + of('partial') + of('stale')
  const expected = of('miss') === 0 ? 0 : (served * missMs) / of('miss')
  return {
    shape: first.shape,
    key: first.key,
    backend: first.backend,
    stepMs: first.stepMs,
    phaseMs: first.phaseMs,
    calendar: first.calendar,
    since: first.at,
    lastAt: entry.lastAt,
    count: total(entry),
    outcomes: Object.fromEntries(outcomes.filter((name) => of(name) > 0).map((name) => [name, of(name)])),
    bytes: entry.bytes,
    totalSeconds: (missMs + servedMs + entry.otherMs) / 1000,
    savedSeconds: Math.max(0, expected - servedMs) / 1000,
    asked: entry.asked,
    askedSeconds: entry.askedMs / 1000,
    notCached: entry.notCached,
  }
}

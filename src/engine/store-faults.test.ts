/** A shared store that is slow, down, flapping or lying: no query fails or waits for it, and it is used again by itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EngineRig, minuteMs } from '../../test/rigs/engine-rig.ts'
import { FleetRig } from '../../test/rigs/fleet-rig.ts'
import type { AsynchronousOptions } from '../testing/asynchronous.ts'
import { seededRandom } from '../testing/random.ts'
import { usualLeaseMs } from './cell-claims.ts'

const viewers = 12
const refreshMs = 5000
const windowCells = 60
const lagMs = 100
const phaseMs = 2 * minuteMs

/** The behaviour of the store during the fault; the argument is the time since its begin. */
type Fault = Pick<AsynchronousOptions, 'maxDelayMs' | 'failures' | 'throws' | 'shortReads' | 'lostWrites'>

interface Result {
  readonly asked: number
  readonly served: number
  readonly wrong: number
  /** Answers that were stale because the database seemed to be slow. */
  readonly stale: number
  readonly slowestMs: number
  readonly opened: number
  readonly closed: number
  /** While the fault lasted, and after it. */
  readonly unavailable: readonly [number, number]
  readonly farHitsAfter: number
  readonly queries: readonly [before: number, during: number, after: number]
}

/** Well, then at fault, then well again; the first minute after a fault is left for the recovery. */
async function simulate(fault: (lastsMs: number) => Fault): Promise<Result> {
  let begins = Number.POSITIVE_INFINITY
  let ends = Number.POSITIVE_INFINITY
  const now = (): number => fleet.clock.elapsed()
  const isAtFault = (): boolean => now() >= begins && now() < ends
  const current = (): Fault => (isAtFault() ? fault(now() - begins) : {})
  const share = (of: 'failures' | 'throws' | 'shortReads' | 'lostWrites') => () => current()[of]?.() ?? 0
  const delay = (): number => {
    const { maxDelayMs = 10 } = current()
    return typeof maxDelayMs === 'number' ? maxDelayMs : maxDelayMs()
  }
  const network: Fault = {
    maxDelayMs: delay,
    failures: share('failures'),
    throws: share('throws'),
    shortReads: share('shortReads'),
    lostWrites: share('lostWrites'),
  }
  const fleet = new FleetRig({ nodes: 2, network })
  fleet.database.lagMs = lagMs
  const tally = { asked: 0, served: 0, wrong: 0, stale: 0, slowestMs: 0 }
  let isOver = false
  const look = async (engine: EngineRig) => {
    const [began, to] = [now(), fleet.openCell + minuteMs]
    tally.asked++
    const { text, decision } = await engine.ask(windowCells, to)
    tally.served++
    tally.slowestMs = Math.max(tally.slowestMs, now() - began)
    if (decision.outcome === 'stale') tally.stale++
    else if (text !== fleet.truth(windowCells, to)) tally.wrong++
  }
  const random = seededRandom(7)
  for (let i = 0; i < viewers; i++) {
    const refresh = () => {
      if (isOver) return
      void look(fleet.nodes[i % 2]!)
      fleet.clock.after(refreshMs, refresh)
    }
    fleet.clock.after(random() * refreshMs, refresh)
  }
  const sum = (of: (engine: EngineRig) => number): number =>
    fleet.nodes.reduce((all, node) => all + of(node), 0)
  const unavailable = (): number => sum(({ claims }) => claims!.counters.unavailable)
  const queriesSince = (): number => fleet.database.asked.splice(0).length
  await fleet.loadMarks()
  await fleet.clock.advance(phaseMs)
  const before = queriesSince()
  begins = now()
  await fleet.clock.advance(phaseMs)
  ends = now()
  const during = queriesSince()
  const unavailableDuring = unavailable()
  await fleet.clock.advance(minuteMs)
  const [unavailableThen, hitsThen] = [unavailable(), sum(({ tiered }) => tiered!.far.found)]
  queriesSince()
  await fleet.clock.advance(phaseMs)
  const after = queriesSince()
  const result = {
    opened: sum(({ guard }) => guard!.breaker.transitions.open),
    closed: sum(({ guard }) => guard!.breaker.transitions.closed),
    unavailable: [unavailableDuring, unavailable() - unavailableThen] as const,
    farHitsAfter: sum(({ tiered }) => tiered!.far.found) - hitsThen,
    queries: [before, during, after] as const,
  }
  isOver = true
  await fleet.clock.advance(minuteMs)
  return { ...tally, ...result }
}

const always = () => 1
const half = () => 0.5
/**
 * The lookup, the claim, the flight of another node with its two writes to the store, a look at it, which comes up to a fifth
 * later, and the lookup after it. Each operation of the store has its budget.
 */
const inTimeMs = 6 * 250 + 1.2 * lagMs + 100

interface Case {
  readonly fault: (lastsMs: number) => Fault
  /** A store that answers is not left alone, whatever it answers. */
  readonly opens?: false
  readonly slowestMs?: number
}

const faults: Readonly<Record<string, Case>> = {
  'is down': { fault: () => ({ failures: always }) },
  'is down and throws at once': { fault: () => ({ throws: always }) },
  'answers after seconds': { fault: () => ({ maxDelayMs: 5000 }) },
  'is slower than its budget half of the time': { fault: () => ({ maxDelayMs: 250 }) },
  'fails half of the time': { fault: () => ({ failures: half }) },
  'flaps every seven seconds': {
    fault: (lastsMs) => (Math.floor(lastsMs / 7000) % 2 === 0 ? { failures: always } : {}),
  },
  'returns short pages': { fault: () => ({ shortReads: half }), opens: false },
  // A claim whose release was lost is waited for until its lease runs out, and so is the next one.
  'loses half of the acknowledged writes': {
    fault: () => ({ lostWrites: half }),
    opens: false,
    slowestMs: 2 * usualLeaseMs + inTimeMs,
  },
}

for (const [name, { fault, opens = true, slowestMs = inTimeMs }] of Object.entries(faults)) {
  test(`a store that ${name}: every query is answered, rightly and in time, and the store is used again`, async (t) => {
    const result = await simulate(fault)
    t.diagnostic(JSON.stringify(result))
    assert.equal(result.served, result.asked)
    assert.equal(result.wrong, 0)
    if (slowestMs === inTimeMs) assert.equal(result.stale, 0)
    assert.ok(result.slowestMs <= slowestMs, `${result.slowestMs} ms`)
    assert.deepEqual([result.opened > 0, result.closed > 0], [opens, opens])
    assert.equal(result.unavailable[0] > 0, opens)
    assert.equal(result.unavailable[1], 0, 'claims are made again')
    assert.ok(result.farHitsAfter > 0, 'nodes find the buckets of others')
    const [before, during, after] = result.queries
    assert.ok(after <= 1.2 * before, `${after} of ${before}`)
    // Two nodes that know nothing of each other.
    assert.ok(during <= 2.2 * before, `${during} of ${before}`)
  })
}

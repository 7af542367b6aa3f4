/** Visits for tests and benchmarks: a window of 60 minutes, half of it fetched by default. */
import type { Plan } from '../../src/backends/backend.ts'
import { type Decision, newDecision } from '../../src/core/decision.ts'
import type { Visit } from '../../src/telemetry/record.ts'

export const NOW = Date.UTC(2026, 1, 1)
const minute = 60_000
const first = NOW / minute - 60

export const samplePlan: Plan = {
  text: 'sum(rate(http_requests_total[5m]))',
  shape: '["/api/v1/query_range","sum(rate(http_requests_total[5m]))",60000]',
  grid: { kind: 'point', step: minute, origin: 0 },
  window: { from: first, to: first + 60 },
  whole: [{ from: first, to: first + 60 }],
  sources: ['http_requests_total'],
  knowsAllSources: true,
  lookbackMs: 300_000,
  terms: '',
  isVerbatim: true,
  request: { method: 'GET', path: '/api/v1/query_range', search: '', headers: [], body: new Uint8Array() },
}

export function sampleVisit(decision: Partial<Decision>, changed: Partial<Visit> = {}): Visit {
  return {
    decision: { ...newDecision(), ...decision },
    method: 'GET',
    path: '/api/v1/query_range',
    plan: samplePlan,
    wire: samplePlan.request,
    isForwarded: false,
    ending: 'whole',
    status: 200,
    bytes: 6000,
    totalMs: 10,
    endedAt: NOW,
    ...changed,
  }
}

const timings = { plan: 0.125, lookup: 0.25, fetch: 0 }

export const visits = {
  hit: sampleVisit(
    { outcome: 'hit', key: 'k', buckets: 60, ageSeconds: 7, ttlSeconds: 3, timings },
    { totalMs: 0.5 },
  ),
  partial: sampleVisit({
    outcome: 'partial',
    reason: 'expired',
    key: 'k',
    buckets: 60,
    asked: 6,
    gaps: [{ from: first + 54, to: first + 60 }],
    upstreamStatus: 200,
    stored: true,
    ageSeconds: 40,
    timings: { ...timings, fetch: 8 },
  }),
  joined: sampleVisit({
    outcome: 'miss',
    reason: 'absent',
    key: 'k',
    buckets: 60,
    asked: 0,
    gaps: [{ from: first, to: first + 60 }],
    collapsed: true,
    upstreamStatus: 200,
    timings: { ...timings, fetch: 9 },
  }),
  stale: sampleVisit({
    outcome: 'stale',
    reason: 'database_unreachable',
    key: 'k',
    buckets: 60,
    ageSeconds: 400,
    ttlSeconds: -20,
    missing: `${new Date(NOW - 10 * minute).toISOString()}/${new Date(NOW - minute).toISOString()}`,
    known: { from: first, to: first + 50 },
    missingBuckets: 10,
    timings: { ...timings, fetch: 9 },
  }),
  bypass: sampleVisit(
    { outcome: 'bypass', reason: 'not_a_range_query', upstreamStatus: 404 },
    { plan: undefined, wire: undefined, isForwarded: true, path: '/api/v1/labels', status: 404, bytes: 100 },
  ),
  refused: sampleVisit({ outcome: 'refused', reason: 'overloaded' }, { plan: undefined, status: 503 }),
  gone: sampleVisit(
    { outcome: 'miss', reason: 'absent', key: 'k', buckets: 60 },
    { ending: 'gone', bytes: 0 },
  ),
} as const

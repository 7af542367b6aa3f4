/** Requests to an interval cache as rigs and simulations send them, and the text of its answers. */
import assert from 'node:assert/strict'
import type { Backend, Plan, WireRequest } from '../../src/backends/backend.ts'
import { bytesOf } from '../../src/core/bytes.ts'
import type { EpochMs } from '../../src/core/clock.ts'
import type { ExplainedRequest } from '../../src/engine/explain/explain.ts'
import { isBypass } from '../../src/engine/http/plan-request.ts'
import type { Answer, Client } from '../../src/engine/trip.ts'

export const patientClient: Client = { isGone: false, onGone() {} }

/** A request without an identity and without demands of its own. */
export const requestFor = (plan: Plan): ExplainedRequest => ({
  ...{ plan, identity: '', partition: 'separate' },
  demands: { notBefore: Number.NEGATIVE_INFINITY, onlyIfCached: false },
})

/** A request to the cell backend. */
export const rowsRequest = (search: string): WireRequest => ({
  ...{ method: 'GET', path: '/rows', search, headers: [], body: new Uint8Array() },
})

/** The plan of a request that the backend must be able to plan. */
export function planOf<Query>(backend: Backend<Query>, request: WireRequest, now: EpochMs): Plan {
  const query = backend.parse(request)
  assert.ok(query !== undefined && !isBypass(query))
  const plan = backend.plan(query, now)
  assert.ok(!isBypass(plan))
  return plan
}

/** The body, where the answer has panes. */
export function textOf(answer: Answer): string {
  return answer.kind === 'panes' ? bytesOf(answer.body).toString('latin1') : ''
}

/** Classifies an answer: right, honestly stale, the database's own words, or clearly an error. */
import assert from 'node:assert/strict'
import type { Interval } from '../../src/core/interval.ts'
import { direct, rangeOf } from '../coalescing/proxy-rig.ts'
import { type Answer, outcomeOf } from '../coalescing/viewer.ts'
import type { Matrix } from '../servers/query.ts'
import type { Fault, Verdict } from './catalogue.ts'

export function verdictOf(answer: Answer, window: Interval, fault: Fault): Verdict | 'wrong' {
  if (!answer.isWhole) return answer.status === 0 ? 'wrong' : 'broken off'
  const said = fault.said?.(rangeOf(window))
  if (said !== undefined && answer.status === said.status && answer.body === said.body) return 'as said'
  if (outcomeOf(answer).startsWith('stale/')) return isHonestlyStale(answer, window) ? 'stale' : 'wrong'
  if (answer.status === 200) return answer.body === direct(window) ? 'right' : 'wrong'
  return isOwnError(answer) ? (`error ${answer.status}` as Verdict) : 'wrong'
}

function isOwnError({ status, body, headers }: Answer): boolean {
  if (status !== 502 && status !== 504) return false
  const answer = JSON.parse(body) as { status: string; errorType: string; error: string }
  assert.equal(headers['content-type'], 'application/json')
  return answer.status === 'error' && answer.errorType !== '' && answer.error.startsWith('windowpane: ')
}

interface MatrixAnswer {
  readonly status: string
  readonly data: { readonly result: readonly Matrix[] }
  readonly warnings?: readonly string[]
}

/** It is marked as stale, names the missing ranges, and has only values that the database would return. */
function isHonestlyStale(answer: Answer, window: Interval): boolean {
  if (answer.status !== 200) return false
  const { data, warnings } = JSON.parse(answer.body) as MatrixAnswer
  const truth = pointsOf((JSON.parse(direct(window)) as MatrixAnswer).data.result)
  const served = pointsOf(data.result)
  const isTold = warnings?.some((text) => text.startsWith('windowpane: ')) === true
  const isMissingTold =
    served.size === truth.size || / missing=\S+\/\S+/.test(String(answer.headers['cache-status']))
  return isTold && isMissingTold && served.size > 0 && [...served].every((point) => truth.has(point))
}

function pointsOf(result: readonly Matrix[]): Set<string> {
  const points = result.flatMap(({ metric, values }) =>
    (values ?? []).map(([at, value]) => JSON.stringify([metric, at, value])),
  )
  return new Set(points)
}

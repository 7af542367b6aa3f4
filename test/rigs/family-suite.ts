/** The laws of a backend of PromQL's family, with the differences that all of them must keep apart. */

import type { Backend, WireRequest } from '../../src/backends/backend.ts'
import { type Random, wholeNumber } from '../../src/testing/random.ts'
import { testBackend } from '../../src/testing/test-backend.ts'
import { canonicalMatrix, type LabelOrder, printWorld, worldOf } from './matrix.ts'
import { getRange as get, postRange as post, someRange } from './range-requests.ts'

const queries = ['up', 'sum by (job) (rate(x_total[5m]))', 'histogram_quantile(0.9, h)', 'up{job="ü+ &"}']

export const typicalRange = 'query=up&start=1600000000&end=1600000601&step=60'

/** Not each of them takes steps of a millisecond. */
function request(random: Random): WireRequest {
  const starts = [1_435_781_451_100, wholeNumber(random, 1e12, 1.6e12)]
  const some = someRange(random, { queries, starts })
  const isShortest = `${some.search}${Buffer.from(some.body)}`.endsWith('step=1ms')
  return isShortest ? request(random) : some
}

const parameters = [
  'dedup=false',
  'max_source_resolution=5m',
  'replicaLabels[]=a',
  'storeMatch[]=%7Ba%3D%22b%22%7D',
  'lookback_delta=1m',
]

export const withHeaders = (...headers: string[]): WireRequest => ({ ...get(typicalRange), headers })

interface FamilyMember {
  readonly backend: Backend
  /** Request headers that are part of the question. */
  readonly headers: readonly string[]
  /** Of parameters, those with which it plans at all. */
  readonly refuses?: readonly string[]
  /** The bytes that it puts behind an answer. */
  readonly ending?: string
  /** The order of its series; that of Prometheus by default. */
  readonly order?: LabelOrder
}

export function testFamilyMember(member: FamilyMember): void {
  const { backend, headers, refuses = [], ending = '', order } = member
  const planned = parameters.filter((each) => !refuses.some((name) => each.startsWith(name)))
  testBackend({
    backend,
    now: 1_800_000_000_000,
    request,
    answer: (world, { grid }, [interval]) =>
      Buffer.concat([printWorld(worldOf(world, order), grid, interval!), Buffer.from(ending)]),
    canonical: (answer) =>
      answer.toString('latin1').endsWith(ending)
        ? canonicalMatrix(answer.subarray(0, answer.length - ending.length))
        : answer,
    rounds: 60,
    equivalent: [
      [get(typicalRange), post(typicalRange)],
      [get(typicalRange), get(`${typicalRange}&timeout=30s&limit=0`)],
      [get(typicalRange), withHeaders('user-agent', 'a')],
    ],
    different: [
      ...planned.map((each): [WireRequest, WireRequest] => [
        get(typicalRange),
        get(`${typicalRange}&${each}`),
      ]),
      ...headers.flatMap((name): [WireRequest, WireRequest][] => [
        [get(typicalRange), withHeaders(name, 'a')],
        [withHeaders(name, 'a'), withHeaders(name, 'b')],
        [withHeaders(name, 'a'), get(`${typicalRange}&${name}=a`)],
      ]),
    ],
  })
}

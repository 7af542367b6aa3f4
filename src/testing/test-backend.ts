/**
 * The laws of a backend, as tests: `testBackend({ … })` in a test file registers them with node:test. Needs nothing
 * but a generator of requests and one of answers; every failure names the seed that brings it back.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hullOf, type Interval, intersectAll, isWithin, nothing, subtractAll } from '../core/interval.ts'
import { clockOf, type Pane, slice } from '../core/pane.ts'
import { join } from '../core/pane-join.ts'
import { checkOver, checkRuns } from './backend-runs.ts'
import { type BackendLaws, fetchedAt, type Round, Suite } from './backend-trial.ts'
import { arbitraryRequest, corrupt } from './mutations.ts'

export type { BackendLaws, RequestPair } from './backend-trial.ts'

export function testBackend<Query>(laws: BackendLaws<Query>): void {
  const { name } = laws.backend
  const suite = new Suite(laws)
  const rounds = laws.rounds ?? 100
  const law = (sentence: string, check: (round: Round<Query>) => void) =>
    test(`${name}: ${sentence}`, () => {
      for (let seed = 1; seed <= rounds; seed++) suite.tryOut(seed, check)
    })

  law('recompose after decompose is the identity, however the bytes arrive', (round) => {
    for (const chunks of round.chunkings()) round.expectSame(round.compose(round.cut(chunks)), round.bytes)
  })
  law('whole buckets and edges are runs, no bucket is both, and they reach over the window', (round) => {
    checkRuns(round.own)
    round.checkEdges()
  })
  law('a pane spans exactly each requested interval, with one clock', (round) => {
    for (const query of round.queries()) {
      const panes = round.fetch(query)
      assert.deepEqual(panes.map(spanOf), query)
      for (const pane of panes) {
        for (let bucket = pane.from; bucket < pane.to; bucket++)
          assert.equal(clockOf(pane, bucket), fetchedAt)
      }
    }
  })
  law('a sink keeps no chunk, and two sinks share nothing', (round) => round.interleave())
  law('the answer over A and B is the recomposition of both, joined or not', (round) => {
    const parts = round.mixture()
    round.expectSame(round.compose(parts), round.bytes)
    round.expectSame(round.compose(joinNeighbours(parts)), round.bytes)
    const [first, second, ...others] = parts
    if (second !== undefined && others.length > 0)
      round.expectSame(round.compose([...joinNeighbours([first!, second]), ...others]), round.bytes)
  })
  law('the client’s own request gets the database’s answer', (round) => {
    round.expectSame(round.compose(round.panes, round.own), round.direct)
    round.expectSame(round.compose(round.mixture(), round.own), round.direct)
  })
  law('a slice of an answer is the answer about the slice', (round) => {
    const { panes } = round
    const slices = round.intervals().map((part) => slice(panes.find((pane) => isWithin(part, pane))!, part))
    for (const part of slices) {
      const about = [spanOf(part)]
      round.expectSame(round.compose([part], round.narrowed(about)), round.answer(about))
      round.expectSame(round.compose([join([part])], round.narrowed(about)), round.answer(about))
    }
    round.expectSame(round.compose(joinNeighbours(slices)), round.bytes)
  })
  law('the measured length is the written length', (round) => round.measures())
  law('a narrowed request has the same shape on the same grid and exactly the intervals', (round) => {
    for (const query of round.queries()) {
      const plan = round.narrowed(query)
      const { shape, grid, window } = plan
      assert.deepEqual({ shape, grid, window }, { ...round.identity, window: hullOf(query) })
      const edges = round.own.edges?.buckets ?? nothing
      assert.deepEqual(plan.edges?.buckets ?? nothing, intersectAll(edges, query))
      assert.deepEqual(plan.whole, subtractAll(query, edges))
      checkRuns(plan)
    }
  })
  law('a plan over its own instants is the same, and over others it has other edges', ({ own }) =>
    checkOver(laws.backend, own, laws.now),
  )
  law('an answer that is cut short is unusable', (round) => {
    for (const length of round.lengths()) {
      assert.ok(round.cut([round.bytes.subarray(0, length)]) === undefined, `${length} bytes were accepted`)
    }
  })
  law('a damaged answer is unusable or forwarded unchanged, never as something else', (round) => {
    for (let i = 0; i < 20; i++) {
      const damaged = corrupt(round.random, round.bytes)
      const panes = round.cut([damaged])
      if (panes !== undefined) round.expectSame(round.compose(panes), damaged)
    }
  })
  const { executionMembers = [] } = laws.backend.capabilities
  if (executionMembers.length > 0) {
    law('execution members are not in a recomposed answer', (round) => {
      const answer = JSON.parse(round.compose(round.panes).toString()) as { readonly data?: object }
      const members = [...Object.keys(answer), ...Object.keys(answer.data ?? {})]
      assert.deepEqual(
        executionMembers.filter((name) => members.includes(name)),
        [],
      )
    })
  }
  law('parse and plan never throw', ({ random, request }) =>
    suite.survives(arbitraryRequest(random, request)),
  )

  for (const [index, pair] of laws.equivalent.entries()) {
    test(`${name}: equal key for an equal question on an equal grid (${index + 1})`, () =>
      assert.equal(suite.key(pair[0]), suite.key(pair[1])))
  }
  for (const [index, pair] of laws.different.entries()) {
    test(`${name}: another key for another question or grid (${index + 1})`, () =>
      assert.notEqual(suite.key(pair[0]), suite.key(pair[1])))
  }
}

const spanOf = ({ from, to }: Interval): Interval => ({ from, to })

/** One pane for each run of panes without a hole between them. */
function joinNeighbours(panes: readonly Pane[]): Pane[] {
  const groups: Pane[][] = []
  for (const pane of panes) {
    const last = groups.at(-1)
    if (last?.at(-1)?.to === pane.from) last.push(pane)
    else groups.push([pane])
  }
  return groups.map((group) => join(group))
}

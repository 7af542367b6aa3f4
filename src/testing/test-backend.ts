/**
 * The laws of a backend, as tests: `testBackend({ … })` in a test file registers them with node:test. Needs nothing
 * but a generator of requests and one of answers; every failure names the seed that brings it back.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockOf, slice } from '../core/pane.ts'
import { join } from '../core/pane-join.ts'
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
    for (const chunks of round.chunkings()) round.isSame(round.compose(round.cut(chunks)), round.bytes)
  })
  law('a pane spans exactly the interval asked for, with one clock', ({ pane, plan }) => {
    assert.deepEqual([pane.from, pane.to], [plan.window.from, plan.window.to])
    for (let bucket = pane.from; bucket < pane.to; bucket++) assert.equal(clockOf(pane, bucket), fetchedAt)
  })
  law('a sink keeps no chunk, and two sinks share nothing', (round) => round.interleave())
  law('the answer over A and B is the recomposition of both, joined or not', (round) => {
    const parts = round.intervals().map((part) => round.fetch(part))
    round.isSame(round.compose(parts), round.bytes)
    round.isSame(round.compose([join(parts)]), round.bytes)
    if (parts.length > 2)
      round.isSame(round.compose([join(parts.slice(0, 2)), ...parts.slice(2)]), round.bytes)
  })
  law('a slice of an answer is the answer about the slice', (round) => {
    const parts = round.intervals()
    const slices = parts.map((part) => slice(round.pane, part))
    for (const [i, part] of parts.entries()) {
      round.isSame(round.compose([slices[i]!], part), round.answer(part))
      round.isSame(round.compose([join([slices[i]!])], part), round.answer(part))
    }
    round.isSame(round.compose([join(slices)]), round.bytes)
  })
  law('the measured length is what is written, no byte more or less', (round) => round.measures())
  law('a narrowed request asks the same question on the same grid about exactly the interval', (round) => {
    for (const interval of round.intervals()) {
      const { shape, grid, window } = suite.plan(laws.backend.narrow(round.plan, [interval]))
      assert.deepEqual({ shape, grid, window }, { ...round.identity, window: interval })
    }
  })
  law('an answer that is cut short is unusable', (round) => {
    for (const length of round.lengths()) {
      assert.ok(round.cut([round.bytes.subarray(0, length)]) === undefined, `${length} bytes were believed`)
    }
  })
  law('a damaged answer is unusable or passed on as it came, never as something else', (round) => {
    for (let i = 0; i < 20; i++) {
      const damaged = corrupt(round.random, round.bytes)
      const panes = round.cut([damaged])
      if (panes !== undefined) round.isSame(round.compose(panes), damaged)
    }
  })
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

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateRate } from '../../ttl/change-rate.ts'
import { computeTtl, staleFraction } from '../../ttl/staleness-budget.ts'
import { RevalidateBudget } from './revalidate-budget.ts'

const terms = {
  revalidateSeconds: 60,
  staleWhileRevalidateSeconds: 600,
  staleIfErrorSeconds: 43_200,
  retentionSeconds: 604_800,
}
const useOf = ({ revalidateSeconds, staleWhileRevalidateSeconds }: typeof terms) =>
  revalidateSeconds + staleWhileRevalidateSeconds

test('the usual terms hold until ten regenerations were seen', () => {
  const budget = new RevalidateBudget()
  for (let i = 0; i < 9; i++) budget.observe('labels', { gapMs: 60_000, isChanged: false })
  assert.equal(budget.termsFor('labels', 0.01, terms), terms)
  budget.observe('labels', { gapMs: 60_000, isChanged: false })
  assert.notEqual(budget.termsFor('labels', 0.01, terms), terms)
  assert.equal(budget.termsFor('series', 0.01, terms), terms)
})

test('the use is that of the upper bound of the rate, and keeps the budget', () => {
  const budget = new RevalidateBudget()
  const observed = Array.from({ length: 100 }, (_, i) => ({ gap: 300, changed: i % 20 === 0 }))
  for (const { gap, changed } of observed) budget.observe('labels', { gapMs: gap * 1000, isChanged: changed })
  const { upper95 } = estimateRate(observed)
  const learned = budget.termsFor('labels', 0.05, terms)
  assert.equal(useOf(learned), Math.floor(computeTtl(upper95, 0.05)))
  assert.ok(staleFraction(upper95, useOf(learned)) <= 0.05)
  assert.deepEqual([learned.staleIfErrorSeconds, learned.retentionSeconds], [43_200, 604_800])
})

test('answers that change whenever they are fetched are used for a second, others for an hour at most', () => {
  const budget = new RevalidateBudget()
  for (let i = 0; i < 300; i++) {
    budget.observe('rules', { gapMs: 10_000, isChanged: true })
    budget.observe('metadata', { gapMs: 3_600_000, isChanged: false })
  }
  assert.equal(useOf(budget.termsFor('rules', 0.01, terms)), 1)
  assert.equal(useOf(budget.termsFor('metadata', 0.01, terms)), 3600)
})

test('regenerations of long ago are forgotten', () => {
  const budget = new RevalidateBudget()
  for (let i = 0; i < 50; i++) budget.observe('labels', { gapMs: 60_000, isChanged: true })
  const before = useOf(budget.termsFor('labels', 0.01, terms))
  for (let i = 0; i < 256; i++) budget.observe('labels', { gapMs: 60_000, isChanged: false })
  assert.ok(useOf(budget.termsFor('labels', 0.01, terms)) > 10 * before)
})

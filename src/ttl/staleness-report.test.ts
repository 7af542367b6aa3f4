import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixed } from './fixed.ts'
import { learned } from './learned/learned-policy.ts'
import type { ClassReport, MeasuredStaleness } from './learned/learning.ts'
import { type GroupStaleness, stalenessGroups } from './learned/staleness-meter.ts'
import { stalenessReport } from './staleness-report.ts'

const none: MeasuredStaleness = { estimate: 0, low: 0, high: 1, samples: 0, error: 0 }
const minute = 60_000

const classOf = (fromMs: number, toMs: number, changed: Partial<ClassReport> = {}): ClassReport => ({
  ...{ fromMs, toMs, rate: 0, rateUpper95: 0, observations: 1, ttlMs: minute, source: 'backend' },
  ...{ boundBy: undefined, staleness: none },
  ...changed,
})

/** The measured staleness is given by group. Classes do not end where groups do. */
function learner(measured: readonly Partial<MeasuredStaleness>[], classes: readonly ClassReport[]) {
  const groups = stalenessGroups.map(
    (fromMs, i): GroupStaleness => ({
      ...{ fromMs, toMs: stalenessGroups[i + 1] ?? Number.POSITIVE_INFINITY },
      ...{ ...none, ...measured[i] },
    }),
  )
  return { report: () => classes, staleness: () => groups }
}

const classes = [
  classOf(Number.NEGATIVE_INFINITY, 0, { ttlMs: 5000 }),
  classOf(0, minute, { ttlMs: 7000, boundBy: 'floor' }),
  classOf(minute, 40 * minute, { ttlMs: 20_000 }),
  classOf(40 * minute, Number.POSITIVE_INFINITY, { ttlMs: 86_400_000, boundBy: 'cap' }),
]
const policy = learned({ staleness: 0.01 })

test('a class counts in every group that it lies in, also partly', () => {
  const { budget, groups } = stalenessReport([policy], learner([], classes))!
  assert.equal(budget, 0.01)
  assert.deepEqual(
    groups.map(({ ttlMs }) => ttlMs / 1000),
    [7, 20, 20, 86_400, 86_400, 86_400],
  )
  assert.deepEqual(
    groups.map(({ boundBy }) => boundBy.join()),
    ['floor', '', 'cap', 'cap', 'cap', 'cap'],
  )
})

const isKept = (...measured: Partial<MeasuredStaleness>[]) =>
  stalenessReport([policy], learner(measured, classes))!.isKept

test('the budget is broken where the low end of one group is above it, and kept where no high end is', () => {
  const [good, broken, vague] = [
    { low: 0, high: 0.009, samples: 600 },
    { low: 0.011, high: 0.03, samples: 600 },
    { low: 0.002, high: 0.02, samples: 300 },
  ]
  assert.equal(isKept(), undefined)
  assert.equal(isKept({}, good, good), true)
  assert.equal(isKept({}, good, vague), undefined)
  assert.equal(isKept({}, good, vague, broken), false)
})

test('a group that the floor binds breaks no budget and keeps none', () => {
  assert.equal(isKept({ low: 0.5, high: 0.6, samples: 600 }), undefined)
  assert.equal(isKept({ low: 0.5, high: 0.6, samples: 600 }, { low: 0, high: 0.005, samples: 900 }), true)
})

test('of several budgets the largest one is compared with; without one there is nothing to report', () => {
  const policies = [fixed(1000), policy, learned({ staleness: 0.05 })]
  assert.equal(stalenessReport(policies, learner([], classes))!.budget, 0.05)
  assert.equal(stalenessReport([fixed(1000)], learner([], classes)), undefined)
})

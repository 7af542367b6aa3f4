import assert from 'node:assert/strict'
import test from 'node:test'
import { fixed } from './fixed.ts'
import { ladder } from './ladder.ts'
import type { ClassReport, LearnedTerms } from './learned/learning.ts'
import { rate } from './rate.ts'
import { ttlReport } from './ttl-report.ts'

const unmeasured = { estimate: 0, low: 0, high: 1, samples: 0, error: 0 }

test('a fixed policy is one class of all ages, without rate and budget', () => {
  assert.deepEqual(ttlReport(fixed(7000), undefined), {
    budget: null,
    classes: [
      {
        ...{ ageFromS: null, ageToS: null, rate: null, rateUpper95: null, observations: 0, ttlS: 7 },
        ...{ source: 'configured', boundBy: null, staleness: unmeasured },
      },
    ],
  })
})

test('every rung of the published ladder is a class, and each ends where the next begins', () => {
  const { classes } = ttlReport(ladder(), undefined)
  assert.deepEqual(
    classes.map(({ ageFromS, ttlS }) => [ageFromS, ttlS]),
    [[null, 5], ...[10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600].map((ttl, i) => [(i + 2) * 60, ttl])],
  )
  assert.deepEqual(
    classes.slice(0, -1).map(({ ageToS }) => ageToS),
    classes.slice(1).map(({ ageFromS }) => ageFromS),
  )
  assert.equal(classes.at(-1)!.ageToS, null)
})

const terms: LearnedTerms = { budget: 0.01, floorMs: 5000, capMs: 86_400_000, settledAgeMs: 660_000 }
const policy = { ...ladder(), name: 'learned', learns: terms }

test('a learned curve is reported per second, with nothing instead of infinity', () => {
  const learnt: ClassReport = {
    ...{ fromMs: 60_000, toMs: Number.POSITIVE_INFINITY, rate: 1e-6, rateUpper95: Number.POSITIVE_INFINITY },
    ...{ observations: 12.34567, ttlMs: 20_134, source: 'shape', boundBy: 'cap' },
    staleness: { estimate: 0.01, low: 0.002, high: 0.03, samples: 300, error: 0.2 },
  }
  const asked: unknown[] = []
  const shape = { key: 'k', sources: ['up'] }
  const learning = {
    report(...given: unknown[]) {
      asked.push(given)
      return [learnt]
    },
  }
  assert.deepEqual(ttlReport(policy, learning, shape), {
    budget: 0.01,
    classes: [
      {
        ...{ ageFromS: 60, ageToS: null, rate: 0.001, rateUpper95: null, observations: 12.346, ttlS: 20.134 },
        ...{ source: 'shape', boundBy: 'cap', staleness: learnt.staleness },
      },
    ],
  })
  assert.deepEqual(asked, [[terms, shape]])
})

test('a policy that would learn, but has nothing to learn from, shows its own TTLs and its budget', () => {
  const { budget, classes } = ttlReport(policy, undefined)
  assert.deepEqual([budget, classes[0]!.source, classes.length], [0.01, 'configured', 11])
})

test('a policy by rate shows its budget, its rate, and whether floor or cap keeps it from the budget', () => {
  const day = 86_400_000
  const shown = (bounds: { floorMs?: number; capMs?: number }) => {
    const { budget, classes } = ttlReport(
      rate({ changesEveryMs: 5 * day, budget: 0.1, ...bounds }),
      undefined,
    )
    return [budget, ...classes.map(({ ageFromS, ttlS, boundBy }) => [ageFromS, Math.round(ttlS), boundBy])]
  }
  assert.deepEqual(shown({}), [0.1, [null, 5, null], [0, 92_688, null]])
  assert.deepEqual(shown({ capMs: 3_600_000 }), [0.1, [null, 5, null], [0, 3600, 'cap']])
  assert.deepEqual(shown({ floorMs: 2 * day }), [0.1, [null, 172_800, 'floor']])
  assert.equal(ttlReport(rate({ changesEveryMs: 1000, budget: 0.1 }), undefined).classes[0]!.rate, 1)
})

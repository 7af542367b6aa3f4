/**
 * A staleness budget is kept, at a bearable cost: short runs of the simulation of `npm run bench:staleness`, which has all models,
 * longer windows and more seeds. Nothing here is up to chance: the same seed gives the same run.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ChangeModelName } from '../rigs/change-models.ts'
import type { PolicySpec, StalenessCase, StalenessRun } from '../rigs/staleness-case.ts'
import { freeStaleness, isMeasured, isTruthInside } from '../rigs/staleness-report.ts'
import { simulateStaleness } from '../rigs/staleness-simulation.ts'
import { ageGroups } from '../rigs/staleness-tally.ts'

const usual = { seed: 1, windowHours: 3, viewers: 1, warmUpHours: 18, measuredHours: 24 }
const budget = 0.05

const run = (model: ChangeModelName, policy: PolicySpec, more: Partial<StalenessCase> = {}) =>
  simulateStaleness({ ...usual, models: [model], policies: [policy], several: false, ...more })

const learnedRuns: StalenessRun[] = []

for (const several of [false, true]) {
  describe(several ? 'where a query has several intervals' : 'where a query has one interval', () => {
    // Nearly all changes come early, or seldom and at any age. A day has so many of either that 1.2 is no matter of luck.
    for (const model of ['exp', 'const'] as const) {
      it(`keeps ${100 * budget} % on ${model}, for at most 1.6 times the cost of an oracle`, async () => {
        const learned = await run(model, { kind: 'learned', budget }, { several })
        const oracle = await run(model, { kind: 'oracle', budget }, { several })
        learnedRuns.push(learned)
        freeStaleness(learned.cohorts[0]!, budget).forEach((share = 0, i) => {
          assert.ok(share <= 1.2 * budget, `${ageGroups[i]!.label}: ${share}`)
        })
        assert.ok(learned.bucketsPerHour <= 1.6 * oracle.bucketsPerHour, `${learned.bucketsPerHour}`)
      })
    }

    it('fetches less than the ladder where data never change after two minutes', async () => {
      const learned = await run('never', { kind: 'learned', budget }, { several })
      const ladder = await run('never', { kind: 'ladder' }, { several })
      assert.ok(learned.bucketsPerHour < 0.8 * ladder.bucketsPerHour, `${learned.bucketsPerHour}`)
    })
  })
}

it('the intervals of the measured staleness cover the truth', () => {
  const groups = learnedRuns.flatMap(({ measured }) => measured).filter(isMeasured)
  const share = groups.filter(isTruthInside).length / groups.length
  assert.ok(share >= 0.8, `${share} of ${groups.length}`)
})

it('the clocks of answers show their versions', async () => {
  const short = { checksText: true, warmUpHours: 2, measuredHours: 1 }
  for (const several of [false, true]) {
    const { requests, cohorts } = await run('burst', { kind: 'learned', budget }, { ...short, several })
    assert.equal(requests, 3 * 360)
    assert.ok(cohorts[0]!.classes.some(({ stale }) => stale > 0))
  }
})

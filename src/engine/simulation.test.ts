/** The published rules, simulated: viewers of one rolling window, and their cost to the database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineRig, minuteMs, type Served } from '../../test/rigs/engine-rig.ts'
import { RangesRig } from '../../test/rigs/ranges-rig.ts'
import { seededRandom } from '../testing/random.ts'

interface Case {
  readonly viewers: number
  readonly refreshMs?: number
  readonly lagMs?: number
  readonly coalescing?: boolean
  /** One query has several intervals. */
  readonly several?: boolean
}

interface Result {
  readonly requests: number
  readonly queries: number
  readonly cells: number
  readonly hits: number
  readonly wrong: number
}

const windowCells = 180
/** Longer than it takes a cell to settle; all in all shorter than the hour after which everything is fetched again. */
const warmUpMs = 15 * minuteMs
const measuredMs = 15 * minuteMs

async function simulate(
  { viewers, refreshMs = 10_000, lagMs = 0, coalescing = true, several = false }: Case,
  seed: number,
) {
  const rig = several ? new RangesRig({ coalescing }) : new EngineRig({ coalescing })
  const random = seededRandom(seed)
  rig.database.lagMs = lagMs
  const tally = { requests: 0, hits: 0, wrong: 0 }
  const truths = new Map<number, string>()
  const truthUntil = (to: number): string => {
    const truth = truths.get(to) ?? rig.truth(windowCells, to)
    truths.set(to, truth)
    return truth
  }
  const look = async () => {
    const to = rig.openCell + minuteMs
    const { decision, text } = await ask(rig, to)
    tally.requests++
    if (decision.outcome === 'hit') tally.hits++
    if (text !== truthUntil(to)) tally.wrong++
  }
  const refresh = () => {
    void look()
    rig.clock.after(refreshMs, refresh)
  }
  for (let i = 0; i < viewers; i++) rig.clock.after(random() * refreshMs, refresh)
  await rig.clock.advance(warmUpMs)
  rig.database.asked.length = 0
  Object.assign(tally, { requests: 0, hits: 0 })
  await rig.clock.advance(measuredMs)
  const cells = rig.database.asked.reduce((sum, query) => sum + query.cells, 0)
  return { ...tally, queries: rig.database.asked.length, cells } satisfies Result
}

function ask(rig: EngineRig, to: number): Promise<Served> {
  if (!(rig instanceof RangesRig)) return rig.ask(windowCells, to)
  return rig.askRanges([[rig.openMinute + 1 - windowCells, rig.openMinute + 1]])
}

const cases = {
  'one viewer': { viewers: 1 },
  'one viewer, 30 s': { viewers: 1, refreshMs: 30_000 },
  '5 viewers': { viewers: 5 },
  '30 viewers': { viewers: 30 },
  '30 viewers, 1 s lag': { viewers: 30, lagMs: 1000 },
  '30 viewers, 2 s lag': { viewers: 30, lagMs: 2000 },
  '30 viewers, several intervals': { viewers: 30, several: true },
  '30 viewers, several intervals, 1 s lag': { viewers: 30, several: true, lagMs: 1000 },
  '100 viewers': { viewers: 100 },
  '100 viewers, 1 s lag': { viewers: 100, lagMs: 1000 },
  '100 viewers, 2 s lag': { viewers: 100, lagMs: 2000 },
  '30 viewers, 1 s lag, no coalescing': { viewers: 30, lagMs: 1000, coalescing: false },
  '100 viewers, 1 s lag, no coalescing': { viewers: 100, lagMs: 1000, coalescing: false },
} satisfies Record<string, Case>
type CaseName = keyof typeof cases
const names = Object.keys(cases) as CaseName[]

/** Refreshes and minutes beat against each other: results depend on the draw of phases. */
const seeds = [1, 3, 5]

// Before the first test is registered: from then on the runner follows every promise, which costs ten times as much.
const results = {} as Record<CaseName, readonly Result[]>
for (const name of names) {
  const runs: Result[] = []
  for (const seed of seeds) runs.push(await simulate(cases[name], seed))
  results[name] = runs
}

const total = (name: CaseName, what: keyof Result): number =>
  results[name].reduce((sum, run) => sum + run[what], 0)
const perMinute = (count: number, runs = 1): number => (count * minuteMs) / (runs * measuredMs)
const queryRate = (name: CaseName): number => perMinute(total(name, 'queries'), seeds.length)
const worstQueryRate = (name: CaseName): number =>
  Math.max(...results[name].map((run) => perMinute(run.queries)))

const hitShare = (name: CaseName): number => total(name, 'hits') / total(name, 'requests')
/** The share of served cells that were not fetched. */
const cachedShare = (name: CaseName): number =>
  1 - total(name, 'cells') / (total(name, 'requests') * windowCells)

test('the table', (t) => {
  const line = (...cells: string[]) =>
    t.diagnostic(cells.map((cell, i) => (i === 0 ? cell.padEnd(36) : cell.padStart(11))).join(''))
  line('case', 'full hit', 'cached', 'q/min', 'worst draw', 'cells/min')
  for (const name of names) {
    const shares = [hitShare(name), cachedShare(name)].map((share) => `${(100 * share).toFixed(1)} %`)
    const rates = [queryRate(name), worstQueryRate(name), perMinute(total(name, 'cells'), seeds.length)]
    line(name, ...shares, ...rates.map((rate) => rate.toFixed(1)))
  }
})

test('every answer is the database’s own', () => {
  for (const name of names) {
    assert.equal(total(name, 'wrong'), 0, name)
    assert.ok(total(name, 'requests') > 0)
  }
})

test('one viewer who refreshes more slowly than the floor causes one query per refresh', () => {
  for (const name of ['one viewer', 'one viewer, 30 s'] as const) {
    assert.equal(total(name, 'queries'), total(name, 'requests'), name)
    assert.equal(total(name, 'hits'), 0)
    assert.ok(cachedShare(name) > 0.9)
  }
})

for (const name of names.filter((each) => /^(30|100).*(viewers|intervals|s lag)$/.test(each))) {
  test(`${name}: 12 queries a minute`, () => {
    assert.ok(Math.abs(queryRate(name) - 12) <= 1, `${queryRate(name)} queries a minute`)
    assert.ok(
      worstQueryRate(name) <= 13.5,
      `${worstQueryRate(name)} queries a minute with one draw of phases`,
    )
  })
}

test('where a query takes several intervals it fetches no more cells than one interval would', () => {
  for (const lag of ['', ', 1 s lag'] as const) {
    const [one, several] = [`30 viewers${lag}`, `30 viewers, several intervals${lag}`] as const
    assert.ok(total(several, 'cells') <= total(one, 'cells'), several)
  }
})

test('without coalescing the database pays for every viewer', () => {
  const few = queryRate('30 viewers, 1 s lag, no coalescing') / 12
  const many = queryRate('100 viewers, 1 s lag, no coalescing') / 12
  assert.ok(few >= 3, `${few} times as many with 30 viewers`)
  assert.ok(many >= 9, `${many} times as many with 100 viewers`)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan } from '../../backends/backend.ts'
import type { Mark } from '../../core/mark.ts'
import { ladder } from '../../ttl/ladder.ts'
import type { LearnedEvent, Refetch } from '../../ttl/learned/learning.ts'
import { Corrections } from './corrections.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const plan = { sources: ['requests', 'errors'], knowsAllSources: true } as unknown as Plan
const asked = { key: 'shape', plan, policy: ladder() }

function newCorrections(question: Partial<typeof asked> = {}) {
  const marks: Mark[] = []
  const taught: LearnedEvent[] = []
  const corrections = new Corrections(
    { name: 'main', mark: (mark) => marks.push(mark) },
    { observe: (event) => taught.push(event) },
  )
  const about = { ...asked, ...question }
  return {
    corrections,
    marks,
    taught,
    observe: (refetch: Refetch, markedAt?: number) => corrections.observe(refetch, about, markedAt),
    sentinel: (at: number, changed: number) =>
      corrections.observeSentinel(
        refetchOf(at, 4, (age) => age < changed),
        about,
      ),
  }
}

/** Minutes from old to young; `isChanged` is called with the distance of each from the end, in minutes. */
function refetchOf(at: number, count: number, isChanged: (fromEnd: number) => boolean): Refetch {
  const fromEnd = Float64Array.from({ length: count }, (_, i) => count - 1 - i)
  const oldAges = fromEnd.map((minutes) => hour + minutes * minute)
  return {
    ...{ kind: 'refetch', shape: { key: asked.key, sources: plan.sources }, at },
    ...{ oldAges, newAges: oldAges.map((age) => age + hour) },
    changed: Uint8Array.from(fromEnd, (minutes) => Number(isChanged(minutes))),
  }
}

const everySecond = (fromEnd: number): boolean => fromEnd % 2 === 0

test('a long part that was rewritten while others were left alone is a correction', () => {
  const { observe, marks, taught } = newCorrections()
  observe(refetchOf(day, 600, (fromEnd) => fromEnd < 300 && everySecond(fromEnd)))
  assert.deepEqual(taught, [])
  const times = { from: Number.NEGATIVE_INFINITY, to: day - 11 * minute, at: day - 1 }
  assert.deepEqual(
    marks,
    plan.sources.map((source) => ({ kind: 'stale', backend: 'main', ...times, source })),
  )
})

test('where not all sources are known, the shape itself is marked', () => {
  const { observe, marks } = newCorrections({ plan: { ...plan, knowsAllSources: false } })
  observe(refetchOf(day, 600, (fromEnd) => fromEnd < 300))
  assert.deepEqual(
    marks.map(({ shape, source }) => [shape, source]),
    [['shape', undefined]],
  )
})

for (const [what, refetch] of [
  ['changes everywhere', refetchOf(day, 600, everySecond)],
  ['one change in twenty', refetchOf(day, 600, (fromEnd) => fromEnd % 20 === 0)],
  ['a rewritten half-hour', refetchOf(day, 600, (fromEnd) => fromEnd < 30)],
  ['nothing', refetchOf(day, 600, () => false)],
] as const) {
  test(`${what}: that teaches`, () => {
    const { observe, marks, taught } = newCorrections()
    observe(refetch)
    assert.deepEqual([taught, marks], [[refetch], []])
  })
}

test('half of a sentinel is a correction, less teaches', () => {
  const { sentinel, marks, taught } = newCorrections()
  sentinel(day, 1)
  assert.deepEqual([taught.length, marks.length], [1, 0])
  sentinel(day, 2)
  assert.deepEqual([taught.length, marks.length], [1, 2])
})

test('refetches because of a mark teach only where hardly anything was left alone', () => {
  const { sentinel, corrections, observe, taught } = newCorrections()
  sentinel(day, 4)
  assert.ok(corrections.hasMarked(day - 1) && !corrections.hasMarked(day - 2))
  observe(
    refetchOf(day + minute, 600, (fromEnd) => fromEnd < 300 && everySecond(fromEnd)),
    day - 1,
  )
  assert.deepEqual(taught, [], 'half of it was left alone')
  observe(refetchOf(day + minute, 100, everySecond), day - 1)
  assert.deepEqual(taught, [], 'too little to tell')
  observe(
    refetchOf(day + minute, 600, (fromEnd) => fromEnd % 5 === 0),
    day - 1,
  )
  assert.equal(taught.length, 1, 'it changes everywhere')
})

test('changes that a sentinel finds again soon teach, with all refetches that its mark causes', () => {
  const { sentinel, observe, marks, taught } = newCorrections()
  sentinel(day, 4)
  sentinel(day + 5 * minute, 4)
  assert.deepEqual([taught.length, marks.length], [1, 2], 'not marked again at once')
  sentinel(day + 30 * minute, 4)
  assert.deepEqual([taught.length, marks.length], [2, 4])
  observe(
    refetchOf(day + 31 * minute, 600, (fromEnd) => fromEnd < 100),
    day + 30 * minute - 1,
  )
  assert.equal(taught.length, 3)
})

test('a correction some hours after another is one again', () => {
  const { sentinel, marks, taught } = newCorrections()
  sentinel(day, 4)
  sentinel(day + 6 * hour, 4)
  assert.deepEqual([taught.length, marks.length], [0, 4])
})

test('where nothing can be marked, everything teaches', () => {
  const taught: LearnedEvent[] = []
  const corrections = new Corrections({ name: 'main' }, { observe: (event) => taught.push(event) })
  corrections.observe(
    refetchOf(day, 600, (fromEnd) => fromEnd < 300),
    asked,
  )
  corrections.observeSentinel(
    refetchOf(day, 4, () => true),
    asked,
  )
  assert.equal(taught.length, 2)
})

const minutesLater = (count: number): number => day + count * minute

test('changes of a few settled buckets teach ten minutes later, and changes of young ones at once', () => {
  const { observe, taught } = newCorrections()
  const [held, calm] = [refetchOf(day, 20, everySecond), refetchOf(minutesLater(9), 20, () => false)]
  observe(held)
  observe(calm)
  assert.deepEqual(taught, [calm])
  const young = { ...refetchOf(minutesLater(9), 5, () => true), oldAges: new Float64Array(5).fill(minute) }
  observe(young)
  assert.deepEqual(taught, [calm, young])
  const late = refetchOf(minutesLater(11), 1, () => false)
  observe(late)
  assert.deepEqual(taught, [calm, young, held, late])
})

test('changes from shortly before a correction was found do not teach', () => {
  const { observe, sentinel, marks, taught } = newCorrections()
  observe(refetchOf(day, 20, everySecond))
  sentinel(minutesLater(5), 4)
  assert.equal(marks.length, 2)
  const later = refetchOf(minutesLater(30), 1, () => false)
  observe(later)
  assert.deepEqual(taught, [later])
})

test('changes of other sources teach, whatever is marked', () => {
  const { corrections, sentinel, taught } = newCorrections()
  const refetch = { ...refetchOf(day, 20, everySecond), shape: { key: 'other', sources: ['visits'] } }
  const visits = { ...plan, sources: ['visits'] }
  corrections.observe(refetch, { ...asked, key: 'other', plan: visits })
  sentinel(minutesLater(5), 4)
  corrections.observe(
    refetchOf(minutesLater(30), 1, () => false),
    asked,
  )
  assert.equal(taught[0], refetch)
})

test('what is held back is bounded: the oldest teaches then', () => {
  const { observe, taught } = newCorrections()
  for (let i = 0; i < 301; i++) observe(refetchOf(day + i, 20, everySecond))
  assert.deepEqual(
    taught.map(({ at }) => at),
    [day],
  )
})

test('soon after a mark, changes teach at once: they may be a new regime', () => {
  const { observe, sentinel, taught } = newCorrections()
  sentinel(day, 4)
  const refetch = refetchOf(minutesLater(30), 20, everySecond)
  observe(refetch)
  assert.deepEqual(taught, [refetch])
})

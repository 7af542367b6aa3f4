import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from '../../core/budget.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { ShadowLog, type VerifyResult } from './log.ts'
import { neededComparisons, neededFromCache } from './verdict.ts'

const MiB = 2 ** 20

function newLog(limit = 64 * MiB) {
  const clock = fakeClock()
  const budget = new Budget(limit)
  const results: VerifyResult[] = []
  const log = new ShadowLog({ clock, budget, onResult: (_, result) => results.push(result) })
  const add = (isExplained: boolean, bytes = 10, backend = 'main') =>
    log.mismatch('hit', {
      ...{ backend, text: 'up', window: { from: 0, to: 60_000, step: 60_000 }, buckets: [] },
      ...{ cause: isExplained ? 'late_data' : 'unfaithful', isExplained },
      ...{ cached: Buffer.alloc(bytes, 1), direct: Buffer.alloc(bytes, 2) },
    })
  return { clock, budget, results, log, add }
}

test('the newest fifty are kept, and explained ones are evicted before unexplained ones', () => {
  const { log, add } = newLog()
  for (let i = 0; i < 20; i++) add(false)
  for (let i = 0; i < 100; i++) add(true)
  const { mismatches, explained, unexplained } = log.report('main')
  assert.deepEqual([mismatches.length, explained, unexplained], [50, 100, 20])
  assert.equal(mismatches.filter(({ isExplained }) => !isExplained).length, 20)
  assert.deepEqual([mismatches[0]!.id, mismatches[29]!.id], ['120', '91'])
  for (let i = 0; i < 60; i++) add(false)
  assert.ok(log.report('main').mismatches.every(({ isExplained }) => !isExplained))
  // There is no room for it among more important ones; it is counted all the same.
  add(true)
  assert.deepEqual(
    [log.report('main').mismatches.length, log.report('main').explained, log.find('181')],
    [50, 101, undefined],
  )
})

test('bodies of a mebibyte are kept, longer ones are not, and all together are bounded', () => {
  const { log, add, budget } = newLog()
  add(true, MiB)
  add(true, MiB + 1)
  const [long, short] = log.report('main').mismatches
  assert.deepEqual([long!.cached, long!.cachedBytes, short!.cached!.length], [undefined, MiB + 1, MiB])
  for (let i = 0; i < 12; i++) add(i % 2 === 0, MiB)
  const kept = log.report('main').mismatches.filter(({ cached }) => cached !== undefined)
  assert.deepEqual([log.held, budget.used, kept.length], [16 * MiB, 16 * MiB, 8])
  // The six that are not explained have theirs.
  assert.equal(kept.filter(({ isExplained }) => !isExplained).length, 6)
  log.clear('main')
  assert.deepEqual([log.held, budget.used, log.report('main').comparisons], [0, 0, 0])
})

test('where the budget has no room, a mismatch is kept without its bodies', () => {
  const { log, add, budget } = newLog(1000)
  add(false, 600)
  assert.deepEqual([log.report('main').mismatches[0]!.cached, budget.used], [undefined, 0])
  assert.equal(log.report('main').mismatches[0]!.cachedBytes, 600)
})

test('databases have figures of their own, and ids of one kind', () => {
  const { log, add, results } = newLog()
  add(false)
  add(true, 10, 'other')
  log.equal('other', 'miss')
  log.skip('other', 'memory')
  assert.deepEqual([log.report('main').comparisons, log.report('other').comparisons], [1, 2])
  assert.deepEqual(
    [log.find('1')!.backend, log.find('2')!.backend, log.find('3')],
    ['main', 'other', undefined],
  )
  assert.deepEqual(log.report('other').wouldBe, { hit: 1, partial: 0, miss: 1 })
  assert.deepEqual(log.report('other').skipped, { memory: 1 })
  assert.deepEqual(results, ['unexplained', 'explained', 'equal', 'skipped'])
  log.clear('main')
  assert.deepEqual([log.find('1'), log.find('2')!.backend], [undefined, 'other'])
})

test('the verdict waits for enough comparisons, and for some that were about stored buckets', () => {
  const { log, add } = newLog()
  const verdict = () => {
    const { verdict: name, sentence } = log.report('main')
    return `${name}: ${sentence}`
  }
  assert.equal(
    verdict(),
    'wait: Wait: 0 of 1000 comparisons are done, 1000 are missing, and no query has come twice while its buckets were fresh.',
  )
  for (let i = 0; i < neededComparisons; i++) log.equal('main', 'miss')
  assert.equal(verdict(), 'wait: Wait: no query has come twice while its buckets were fresh.')
  log.equal('main', 'partial')
  assert.equal(verdict(), 'wait: Wait: only 1 answer would have come from the cache, 100 are needed.')
  for (let i = 1; i < neededFromCache; i++) log.equal('main', 'hit')
  assert.equal(
    verdict(),
    'safe: Safe: of 1100 answers, 100 would have come from the cache in whole or in part, and none differed from the database.',
  )
  add(true)
  assert.match(verdict(), /^safe: .* and 1 answer differed from the database's own only by the staleness/)
  add(false)
  assert.match(verdict(), /^unsafe: Not safe: 1 answer of 1102 would have differed/)
})

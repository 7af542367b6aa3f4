/**
 * Syntax newer than the packaged server, against a server that reads it. Not a *.test.ts, so that only the long run
 * takes it up: the packaged server would refuse most of it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiClient } from '../fidelity/client.ts'
import { judgeMarks } from '../fidelity/marks.ts'
import { runSuite } from '../fidelity/run.ts'
import { chooseSeed, chooseSize, replayCommand, span } from '../fidelity/setup.ts'
import { assertFaithful, type Tally } from '../fidelity/tally.ts'
import { startUnderTest } from '../fidelity/under-test.ts'
import { newerForms } from './newer-forms.ts'
import { startNewer } from './setup.ts'

/** Some fifteen walks for every form. */
const comparisons = 30_000

test('newer forms succeed, fail or are empty as marked', async (t) => {
  const prometheus = await startNewer(t)
  if (prometheus === null) return
  const client = new ApiClient(prometheus.url)
  t.after(() => client.close())
  const { faults, nonEmpty } = await judgeMarks(newerForms, client)
  assert.deepEqual(faults, [])
  t.diagnostic(`${nonEmpty} of ${newerForms.length} forms have a non-empty answer`)
})

test('answers to newer syntax through Windowpane equal direct answers', async (t) => {
  const prometheus = await startNewer(t)
  if (prometheus === null) return
  const proxy = await startUnderTest(prometheus.url)
  t.after(() => proxy.close())
  const run = {
    seed: chooseSeed(t),
    span,
    forms: newerForms,
    replay: replayCommand('test/long/newer-syntax.ts'),
  }
  const size = chooseSize(comparisons)
  const tally = await runSuite(run, { direct: prometheus.url, proxied: proxy.url }, size)

  for (const line of tally.table().split('\n')) t.diagnostic(line)
  assertFaithful(tally)
  if (size.only === undefined) assertEachFormIsCached(tally, (line) => t.diagnostic(line))
})

/** A share of hits over all forms could hide one that is never answered from buckets. */
function assertEachFormIsCached(tally: Tally, say: (line: string) => void): void {
  const shares = newerForms
    .filter((form) => form.eligible)
    .map(({ query }) => ({ query, share: shareOfHits(tally, query) }))
    .sort((a, b) => a.share - b.share)
  for (const { query, share } of shares.slice(0, 5))
    say(`fewest hits: ${(100 * share).toFixed(1)} % ${query}`)
  assert.deepEqual(
    shares.filter(({ share }) => share === 0),
    [],
  )
}

function shareOfHits(tally: Tally, query: string): number {
  const outcomes = tally.byForm.get(query)
  if (outcomes === undefined) return 0
  const all = [...outcomes.values()].reduce((sum, count) => sum + count, 0)
  return (outcomes.get('hit') ?? 0) / all
}

/**
 * Unforeseen queries: mutants of the forms, as far as the planner takes them for local. The forms were written by
 * people who know the planner; whole-range effects that they do not know of are more likely found here.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { examine } from '../../src/backends/prometheus/promql.ts'
import { ApiClient } from '../fidelity/client.ts'
import { compareAnswers } from '../fidelity/compare.ts'
import type { Form } from '../fidelity/form.ts'
import { type Itinerary, planWalk, type Stop } from '../fidelity/itinerary.ts'
import { formsFor } from '../fidelity/queries.ts'
import { type Random, seededRandom } from '../fidelity/random.ts'
import { chooseSeed, replayCommand, span } from '../fidelity/setup.ts'
import { type Ask, encode } from '../fidelity/spelling.ts'
import { startUnderTest } from '../fidelity/under-test.ts'
import { mutate } from './mutants.ts'
import { newerForms } from './newer-forms.ts'
import { startNewer } from './setup.ts'

const queries = 5_000
const atATime = 8
/** A documented exception: ties go by the order of series, which is random within Prometheus. */
const ties = /topk|bottomk|limitk/i
/** How often a direct query is repeated before a difference is held against the proxy. */
const secondThoughts = 12
const maxReports = 10

interface Desk {
  readonly direct: ApiClient
  readonly proxied: ApiClient
  comparisons: number
  readonly unstable: Set<string>
  readonly faults: string[]
}

/** Distinct mutants that the planner takes for local and the server reads. */
async function strangeForms(texts: readonly string[], random: Random, server: ApiClient): Promise<Form[]> {
  const seen = new Set(texts)
  const found: Form[] = []
  while (found.length < queries) {
    const query = mutate(random.pick(texts), random)
    if (seen.has(query) || ties.test(query) || 'bypass' in examine(query)) continue
    seen.add(query)
    const answer = await server.get(`/api/v1/parse_query?${encode([['query', query]])}`)
    if (answer.status === 200) found.push({ query, eligible: true })
  }
  return found
}

async function takeWalk(walk: Itinerary, desk: Desk): Promise<void> {
  for (const stop of walk.stops) {
    desk.comparisons++
    const [direct, proxied] = await Promise.all([
      desk.direct.queryRange(stop.ask),
      desk.proxied.queryRange(stop.ask),
    ])
    const difference = compareAnswers(direct, proxied)
    if (difference === undefined) continue
    if (await isUnstable(walk.form.query, stop, desk.direct)) desk.unstable.add(walk.form.query)
    else desk.faults.push(report(walk, stop, [proxied.headers['cache-status'], ...Object.values(difference)]))
  }
}

/**
 * Operators hand on their series in random order, and the last bits of a sum over them follow it, so that some
 * queries have no one answer. A single point is calculated in another way: it is judged with its neighbours.
 */
async function isUnstable(query: string, { window }: Stop, direct: ApiClient): Promise<boolean> {
  const ask: Ask = {
    method: 'GET',
    search: [
      ['query', query],
      ['start', String(window.start / 1000)],
      ['end', String((window.end + 20 * window.step) / 1000)],
      ['step', `${window.step}ms`],
    ],
    form: [],
  }
  const first = await direct.queryRange(ask)
  for (let left = secondThoughts; left > 0; left--) {
    if (compareAnswers(first, await direct.queryRange(ask)) !== undefined) return true
  }
  return false
}

const report = (walk: Itinerary, { window }: Stop, details: readonly (string | undefined)[]): string =>
  [`walk ${walk.number}: ${walk.form.query}`, JSON.stringify(window), ...details].join('\n  ')

test('answers to strange queries through Windowpane equal direct answers', async (t) => {
  const prometheus = await startNewer(t)
  if (prometheus === null) return
  const proxy = await startUnderTest(prometheus.url)
  t.after(() => proxy.close())
  const desk: Desk = {
    direct: new ApiClient(prometheus.url, atATime),
    proxied: new ApiClient(proxy.url, atATime),
    comparisons: 0,
    unstable: new Set(),
    faults: [],
  }
  t.after(() => Promise.all([desk.direct.close(), desk.proxied.close()]))
  const seed = chooseSeed(t)
  const texts = [...formsFor(prometheus.version), ...newerForms].map((form) => form.query)
  const forms = await strangeForms(texts, seededRandom(seed), desk.direct)
  const run = { seed, span, forms, replay: replayCommand('test/long/strange-queries.ts') }

  const numbers = forms.keys()
  const walker = async () => {
    for (const number of numbers) await takeWalk(planWalk(run, number), desk)
  }
  await Promise.all(Array.from({ length: atATime }, walker))

  const { comparisons, unstable, faults } = desk
  t.diagnostic(`${comparisons} comparisons of ${forms.length} queries, ${faults.length} mismatches`)
  t.diagnostic(`${unstable.size} queries have more than one direct answer: ${[...unstable].join(' ; ')}`)
  const reports = [...faults.slice(0, maxReports), `replay WINDOWPANE_SEED=${seed} ${run.replay}`]
  assert.equal(faults.length, 0, reports.join('\n'))
  assert.ok(unstable.size < forms.length / 100)
})

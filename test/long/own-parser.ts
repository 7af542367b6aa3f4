/**
 * The planner against Prometheus' own parser. Over settled data a look ahead changes nothing, so that equal bytes do
 * not prove that a query was rightly taken for local; the server's own tree of the query does.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { examine } from '../../src/backends/prometheus/promql.ts'
import { ApiClient } from '../fidelity/client.ts'
import { formsFor } from '../fidelity/queries.ts'
import { type Random, seededRandom } from '../fidelity/random.ts'
import { chooseSeed } from '../fidelity/setup.ts'
import { encode } from '../fidelity/spelling.ts'
import { mutate } from './mutants.ts'
import { newerForms } from './newer-forms.ts'
import { startNewer } from './setup.ts'
import { examineTree } from './tree.ts'

const mutants = 500_000
const atATime = 8
const maxReports = 20

/** If the tree did not show these where they are, nothing could be concluded from their absence. */
const expectedObjections = [
  ...['offsetExpr', 'rangeExpr', 'stepExpr', 'startOrEnd', 'anchored', 'smoothed'],
  ...['start()', 'end()', 'range()', 'step()', 'info()', 'sort()', 'a computed parameter of topk'],
  ...['a selector without a name where names must agree', 'fill where names must agree'],
]

interface Verdicts {
  /** Texts that the planner took for local and the server could read. */
  both: number
  refusedByPlanner: number
  refusedByServer: number
  readonly faults: string[]
}

/** Returns the tree, or undefined where the server does not read the text (or cannot print it: `fill(NaN)`). */
async function parseBy(server: ApiClient, text: string): Promise<unknown> {
  const answer = await server.get(`/api/v1/parse_query?${encode([['query', text]])}`)
  if (answer.status !== 200) return undefined
  return (JSON.parse(answer.body.toString()) as { data: unknown }).data
}

async function judge(server: ApiClient, text: string, verdicts: Verdicts): Promise<void> {
  const examined = examine(text)
  if ('bypass' in examined) {
    verdicts.refusedByPlanner++
    return
  }
  const tree = await parseBy(server, text)
  if (tree === undefined) {
    verdicts.refusedByServer++
    return
  }
  verdicts.both++
  const { objections, atTimes, names, aheadMs } = examineTree(tree)
  const missed = atTimes.filter((at) => !examined.atTimes.includes(at)).map((at) => `@ ${at} overlooked`)
  const invented = examined.metrics.filter((name) => !names.includes(name)).map((name) => `no metric ${name}`)
  const isNear = examined.reach.aheadMs < aheadMs
  const all = [...objections, ...missed, ...invented, ...(isNear ? [`reads ${aheadMs} ms ahead`] : [])]
  if (all.length > 0) verdicts.faults.push(`${JSON.stringify(text)}: ${all.join(', ')}`)
}

async function judgeAll(server: ApiClient, texts: Iterator<string>): Promise<Verdicts> {
  const verdicts: Verdicts = { both: 0, refusedByPlanner: 0, refusedByServer: 0, faults: [] }
  const worker = async () => {
    for (let next = texts.next(); next.done !== true; next = texts.next()) {
      await judge(server, next.value, verdicts)
    }
  }
  await Promise.all(Array.from({ length: atATime }, worker))
  return verdicts
}

function* mutantsOf(texts: readonly string[], random: Random): Generator<string> {
  for (let left = mutants; left > 0; left--) yield mutate(random.pick(texts), random)
}

function assertAgreed({ faults }: Verdicts): void {
  assert.equal(faults.length, 0, `${faults.length} faults\n${faults.slice(0, maxReports).join('\n')}`)
}

test('what the planner takes for local is local in the tree of Prometheus itself', async (t) => {
  const prometheus = await startNewer(t)
  if (prometheus === null) return
  const server = new ApiClient(prometheus.url, atATime)
  t.after(() => server.close())
  const forms = [...formsFor(prometheus.version), ...newerForms]
  const texts = forms.map((form) => form.query)

  await t.test('every form', async () => {
    const verdicts = await judgeAll(server, texts.values())
    assertAgreed(verdicts)
    assert.ok(verdicts.both >= forms.filter((form) => form.eligible).length)
  })

  await t.test('the tree shows what is not local in forms that are not', async () => {
    const seen = new Set<string>()
    for (const { query, bypass } of forms) {
      const tree = bypass === undefined ? undefined : await parseBy(server, query)
      if (tree !== undefined) for (const objection of examineTree(tree).objections) seen.add(objection)
    }
    assert.deepEqual(
      expectedObjections.filter((objection) => !seen.has(objection)),
      [],
    )
  })

  await t.test('mutants of the forms', async (t) => {
    const verdicts = await judgeAll(server, mutantsOf(texts, seededRandom(chooseSeed(t))))
    const { both, refusedByPlanner, refusedByServer } = verdicts
    t.diagnostic(
      `${both} read by both, ${refusedByServer} only by the planner, ${refusedByPlanner} not local`,
    )
    assertAgreed(verdicts)
    assert.ok(both > mutants / 20, `${both} of ${mutants} mutants were read by both`)
  })
})

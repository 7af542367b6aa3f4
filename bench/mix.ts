/**
 * The share of dashboard requests that never reaches Prometheus: `npm run bench:mix -- --minutes 2`. The calls of ten
 * dashboards in the proportions of published ones, through Windowpane in front of a real Prometheus, in simulated time;
 * with and without `instant.within`. `--real`: two of the dashboards, in real time.
 */
import { parseArgs } from 'node:util'
import { Agent, request } from 'undici'
import { fakeClock } from '../src/testing/fake-clock.ts'
import { END, MINUTE, SECOND } from '../test/data/dataset.ts'
import { startOwnFixture } from '../test/data/fixture.ts'
import { type Call, type CallKind, kinds } from '../test/objects/mix/calls.ts'
import { type Dashboard, dashboards } from '../test/objects/mix/dashboards.ts'
import { type Counts, reachedSoFar, realClock, replay, startProxy } from '../test/objects/mix/replay.ts'
import { firstLoads, refreshLoads, type Viewing } from '../test/objects/mix/viewers.ts'
import { isUnavailable } from '../test/servers/availability.ts'

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '2' }, real: { type: 'boolean', default: false } },
})
const forMs = Number(values.minutes) * MINUTE
const mark = 0.9

interface Scenario {
  readonly name: string
  readonly dashboards: readonly Dashboard[]
  readonly viewersOfEach: number
  readonly refreshMs: number
  readonly withinMs: readonly number[]
}

const [often, seldom] = [10 * SECOND, 30 * SECOND]

/** As many as one process can request while others need the machine, too. */
const inRealTime: Scenario = {
  ...{ name: '30 viewers of each of 2 dashboards, every 10 s, real time', dashboards: dashboards(2) },
  ...{ viewersOfEach: 30, refreshMs: often, withinMs: [0, 5 * SECOND] },
}

/** The mark is about the first. */
const inSimulatedTime: readonly Scenario[] = [
  {
    ...{ name: '30 viewers of each of 10 dashboards, every 10 s', dashboards: dashboards(10) },
    ...{ viewersOfEach: 30, refreshMs: often, withinMs: [0, 5 * SECOND] },
  },
  {
    ...{ name: '30 viewers of the one made of tables, every 10 s', dashboards: dashboards(2).slice(1) },
    ...{ viewersOfEach: 30, refreshMs: often, withinMs: [0, 5 * SECOND] },
  },
  {
    ...{ name: '30 viewers of each of 3 dashboards, every 30 s', dashboards: dashboards(3) },
    ...{ viewersOfEach: 30, refreshMs: seldom, withinMs: [0, 5 * SECOND, 15 * SECOND] },
  },
  {
    ...{ name: '10 viewers of each of 3 dashboards, every 10 s', dashboards: dashboards(3) },
    ...{ viewersOfEach: 10, refreshMs: often, withinMs: [0, 5 * SECOND, 15 * SECOND] },
  },
]

interface Measured {
  readonly calls: Counts
  readonly reached: Counts
}

async function measure(
  scenario: Scenario,
  withinMs: number,
): Promise<[first: Measured, refreshes: Measured]> {
  const from = END - 30 * MINUTE
  const proxy = await startProxy(prometheus.url, withinMs, values.real ? realClock(from) : fakeClock(from))
  const { viewersOfEach, refreshMs } = scenario
  const refreshes = Math.ceil(forMs / refreshMs)
  const viewing: Viewing = {
    ...{ dashboards: scenario.dashboards, viewersOfEach, refreshMs, from, refreshes },
  }
  const send = (call: Call): Promise<void> => ask(proxy.url, call)
  const before = await reachedSoFar(prometheus.url)
  const firstCalls = await replay(firstLoads(viewing), proxy.clock, send)
  const between = await reachedSoFar(prometheus.url)
  const calls = await replay(refreshLoads(viewing), proxy.clock, send)
  const after = await reachedSoFar(prometheus.url)
  await proxy.close()
  return [
    { calls: firstCalls, reached: minus(between, before) },
    { calls, reached: minus(after, between) },
  ]
}

const agent = new Agent({ connections: 48, pipelining: 1 })

async function ask(url: string, { path, method = 'GET', headers, body }: Call): Promise<void> {
  const answer = await request(`${url}${path}`, {
    ...{ method: method as 'GET' | 'POST', dispatcher: agent },
    ...(headers && { headers: headers as Record<string, string> }),
    ...(body !== undefined && { body: body as string }),
  })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} for ${path} ${body}: ${text}`)
}

const minus = (after: Counts, before: Counts): Counts =>
  Object.fromEntries(kinds.map((kind) => [kind, after[kind] - before[kind]])) as Record<CallKind, number>

const sum = (counts: Counts): number => kinds.reduce((all, kind) => all + counts[kind], 0)
const percent = (reached: number, calls: number): string => `${(100 * (1 - reached / calls)).toFixed(1)} %`

function row(what: string, within: string, { calls, reached }: Measured): string {
  const cells = kinds.map((kind) => percent(reached[kind], calls[kind]))
  return `| ${[what, within, ...cells, `**${percent(sum(reached), sum(calls))}**`, sum(calls)].join(' | ')} |`
}

const prometheus = await found()
const shortOf: string[] = []
console.log(
  `Calls that never reach Prometheus ${prometheus.version}, ${values.minutes} ${values.real ? 'real' : 'simulated'} minutes\n`,
)
console.log(`| calls | instant.within | ${kinds.join(' | ')} | all | calls |`)
console.log(`|${' --- |'.repeat(kinds.length + 4)}`)
const scenarios = values.real ? [inRealTime] : inSimulatedTime
for (const [index, scenario] of scenarios.entries())
  for (const withinMs of scenario.withinMs) {
    const within = withinMs === 0 ? '–' : `${withinMs / SECOND} s`
    const [first, refreshes] = await measure(scenario, withinMs)
    console.log(row(`${scenario.name}: first load`, within, first))
    console.log(row(`${scenario.name}: refresh`, within, refreshes))
    const share = 1 - sum(refreshes.reached) / sum(refreshes.calls)
    if (index === 0 && withinMs > 0 && share < mark) shortOf.push(`${scenario.name}: ${share} < ${mark}`)
  }
await agent.close()
await prometheus.stop()
for (const line of shortOf) console.error(line)
if (shortOf.length > 0) process.exitCode = 1

async function found() {
  const server = await startOwnFixture()
  if (isUnavailable(server)) throw new Error(server.unavailable)
  return server
}

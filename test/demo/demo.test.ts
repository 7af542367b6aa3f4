/** `windowpane demo` as people start it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import test, { type TestContext } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { startProduct } from '../../src/demo/product.ts'
import { type Child, runToEnd, startCommand } from '../cli/child.ts'
import { bounded, until } from '../wait.ts'

const demo = (t: TestContext, ...argv: string[]): Child => startCommand(t, ['demo', ...argv])

interface Line {
  readonly admin: string
  readonly isFinal: boolean
  readonly queries: number
  readonly failures: number
  readonly loadAvoided: number
  readonly bucketSeconds: { readonly asked: number; readonly withoutCache: number }
  readonly outcomes: Readonly<Record<string, { readonly count: number }>>
  readonly staleness: { readonly answers: number; readonly points: number; readonly violations: number }
}

const linesOf = ({ out }: Child): Line[] =>
  out()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)

/** Enough requests were sent and judged, and the cache has paid: at first everything is a miss. */
const isTelling = ({ queries, outcomes, staleness, bucketSeconds }: Line): boolean =>
  queries >= 80 &&
  bucketSeconds.withoutCache > 1.6 * bucketSeconds.asked &&
  ['hit', 'partial', 'miss'].every((outcome) => outcomes[outcome]!.count > 0) &&
  staleness.answers > 5 &&
  staleness.points > 1000

test('the database gets fewer queries, every answer is as true as its TTL permits, and it ends with 0', async (t) => {
  const running = demo(t, '--json', '--listen', '127.0.0.1:0')
  await until(() => linesOf(running).some(isTelling))
  running.process.kill('SIGTERM')
  assert.equal(await running.exit, 0, running.err())
  const lines = linesOf(running)
  assert.deepEqual(
    lines.map(({ isFinal }) => isFinal),
    lines.map((_, i) => i === lines.length - 1),
  )
  const { failures, staleness } = lines.at(-1)!
  assert.deepEqual([failures, staleness.violations], [0, 0])
  assert.equal(running.err(), '')
})

test('with --seconds it ends by itself, with a line for each second at most', async (t) => {
  const running = demo(t, '--seconds', '3', '--json', '--listen', '127.0.0.1:0')
  assert.equal(await running.exit, 0, running.err())
  const lines = linesOf(running)
  assert.ok(lines.length >= 1 && lines.length <= 5, `${lines.length} lines`)
  assert.ok(lines.at(-1)!.isFinal)
})

test('without a terminal: a line within two seconds, no control codes, and a summary after SIGTERM', async (t) => {
  const started = systemClock.elapsed()
  const running = demo(t, '--listen', '127.0.0.1:0')
  await running.says(/queries · (?:any hit|warming up)/)
  const firstMs = systemClock.elapsed() - started
  assert.match(
    running.out(),
    /^windowpane demo: 12 dashboards .*\npoint your Grafana at http:\/\/127\.0\.0\.1:\d+ .*\nin another terminal: windowpane top/,
  )
  running.process.kill('SIGTERM')
  assert.equal(await running.exit, 0)
  assert.match(running.out(), /\nIn 0:\d\d the viewers sent \d+ queries\.\n/)
  assert.ok(!running.out().includes('\u001b'))
  t.diagnostic(`first line after ${Math.round(firstMs)} ms`)
})

test('where another process takes the address of the admin listener meanwhile, any free one is taken', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`
  const starting = startProduct('http://127.0.0.1:1', '127.0.0.1:0', taken)
  const product = await bounded(starting, () => 'the proxy of the demo')
  t.after(() => product.close())
  assert.notEqual(product.admin, `http://${taken}`)
  assert.equal((await fetch(`${product.admin}/-/status`)).status, 200)
})

test('top, tail, status and explain work on a demo', async (t) => {
  const running = demo(t, '--json', '--listen', '127.0.0.1:0')
  await until(() => linesOf(running).some(({ queries }) => queries >= 80))
  const { admin } = linesOf(running).at(-1)!
  const query = 'sum by (job) (rate(http_requests_total[1m]))'
  for (const argv of [['status'], ['top', '--once'], ['explain', query]]) {
    const { code, out, err } = await runToEnd(t, [...argv, '--admin', admin])
    assert.deepEqual([code, err], [0, ''], argv.join(' '))
    assert.match(out, /Prometheus 3\.5\.0|sum by/)
  }
  const tail = startCommand(t, ['tail', '--admin', admin])
  await tail.says(/ (?:hit|partial|miss) /)
  tail.process.kill('SIGINT')
  await tail.exit
  running.process.kill('SIGTERM')
  assert.equal(await running.exit, 0)
})

test('mistakes are told', async (t) => {
  for (const [argv, said] of [
    [['--seconds', 'ten'], /--seconds ten: expected a number above 0/],
    [['--secnods', '10'], /secnods/],
    [['--listen', 'nowhere'], /--listen: expected host:port/],
  ] as const) {
    const running = demo(t, ...argv)
    assert.equal(await running.exit, 2)
    assert.match(running.err(), said)
  }
  const help = demo(t, '--help')
  assert.equal(await help.exit, 0)
  assert.match(help.out(), /^Usage: windowpane demo/)
})

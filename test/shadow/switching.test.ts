/** Modes switched by hand and by reloads, as a process under load: no request fails, and every answer is the database's. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { type Mode, modes } from '../../src/proxy/request/settings.ts'
import { readyAddress, startCommand } from '../cli/child.ts'
import { END, MINUTE } from '../data/dataset.ts'
import { requireServer, startFixture } from '../data/fixture.ts'
import { ApiClient, outcomeOf } from '../fidelity/client.ts'
import { askPlainly, until } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { eventually } from '../wait.ts'
import { postMode, reportOf } from './proxy-rig.ts'

const connections = 8
const switches = { byHand: 24, byReload: 12 }
/** Answers between two switches. */
const between = 40

const queries = ['up', 'http_requests_total', 'rate(node_cpu_seconds_total[5m])', 'sum by (job) (up)']
/** Sliding windows over each of them. */
const paths = queries.flatMap((query) =>
  Array.from({ length: 12 }, (_, i) => {
    const end = END - 600 * MINUTE + i * 3 * MINUTE
    return rangePath({ query, start: end - 90 * MINUTE, end })
  }),
)

/** The permitted outcomes of a request that came in this mode. */
const outcomesIn: Record<Mode, RegExp> = {
  off: /^bypass\/switched_off$/,
  shadow: /^bypass\/shadow$/,
  on: /^(?:hit|partial|miss)\//,
}

const next = (step: number): Mode => modes[(step + 1) % modes.length]!

test('switching thirty times and more under load fails no request and changes no answer', async (t) => {
  const fixture = requireServer(t, await startFixture())
  if (fixture === null) return
  t.after(() => fixture.stop())
  const truth = await truthOf(t, fixture.url)
  const { url, admin, setFile, process, shownMode } = await start(t, fixture.url)
  const load = new Load(url, truth)
  t.after(() => load.close())
  const inMode = async (mode: Mode) => {
    await load.answers(between)
    assert.match(await load.one(), outcomesIn[mode])
  }

  for (let step = 0; step < switches.byHand; step++) {
    const mode = next(step)
    const [status, said] = await postMode(admin, { backend: 'main', mode })
    assert.deepEqual([status, (said as { mode: string }).mode], [200, mode])
    await inMode(mode)
    assert.deepEqual(await shownMode(), { mode, overridden: true, configuredMode: 'off' })
  }
  for (let step = 0; step < switches.byReload; step++) {
    await setFile(next(step))
    await inMode(next(step))
  }
  await setFile('shadow')
  assert.deepEqual(await shownMode(), { mode: 'shadow', overridden: undefined, configuredMode: undefined })
  await load.answers(3 * paths.length)

  const report = await reportOf(admin)
  t.diagnostic(`${load.count} answers: ${JSON.stringify(Object.fromEntries(load.outcomes))}`)
  assert.deepEqual([load.failures, report.unexplained, report.explained], [[], 0, 0])
  for (const pattern of [/^hit/, /^bypass\/shadow/, /^bypass\/switched_off/]) {
    assert.ok(
      [...load.outcomes.keys()].some((outcome) => pattern.test(outcome)),
      String(pattern),
    )
  }
  assert.ok(report.wouldBe.hit > 0, report.sentence)
  await load.close()
  process.process.kill('SIGTERM')
  assert.equal(await process.exit, 0)
})

async function truthOf(t: TestContext, database: string): Promise<ReadonlyMap<string, Buffer>> {
  const client = new ApiClient(database)
  t.after(() => client.close())
  const answers = await Promise.all(paths.map((path) => client.get(path)))
  assert.ok(answers.every(({ status, body }) => status === 200 && body.length > 200))
  return new Map(paths.map((path, i) => [path, answers[i]!.body]))
}

async function start(t: TestContext, database: string) {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-shadow-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'windowpane.yaml')
  const write = (mode: Mode) =>
    writeFile(
      file,
      `listen: 127.0.0.1:0\nadmin: { listen: "127.0.0.1:0", allowWrites: true }\ntelemetry: { logLevel: info, logFormat: json }\nbackends:\n  main: { url: "${database}", mode: ${mode} }\n`,
    )
  await write('off')
  const process = startCommand(t, ['--config', file])
  const url = await readyAddress(process)
  const [, admin = ''] = await process.says(/"admin":"(http:[^"]*)\/-\/"/, 'err')
  const shownMode = async () => {
    const status = JSON.parse((await askPlainly(admin, '/-/status')).body.toString())
    const { mode, overridden, configuredMode } = status.backends[0]
    return { mode, overridden, configuredMode }
  }
  const setFile = async (mode: Mode) => {
    await write(mode)
    process.process.kill('SIGHUP')
    await eventually(shownMode, (shown) => shown.mode === mode)
  }
  return { url, admin, process, setFile, shownMode }
}

/** Clients that send the next request as soon as they are answered, each on a connection of its own. */
class Load {
  count = 0
  readonly failures: string[] = []
  readonly outcomes = new Map<string, number>()
  readonly #client: ApiClient
  readonly #truth: ReadonlyMap<string, Buffer>
  readonly #finished: Promise<unknown>
  #isStopping = false
  #turn = 0

  constructor(url: string, truth: ReadonlyMap<string, Buffer>) {
    this.#client = new ApiClient(url, connections + 1)
    this.#truth = truth
    this.#finished = Promise.all(Array.from({ length: connections }, () => this.#work()))
  }

  /** Waits for so many more answers. */
  answers(more: number): Promise<void> {
    const wanted = this.count + more
    return until(() => this.count >= wanted)
  }

  /** The outcome of one more request. */
  async one(): Promise<string> {
    const path = paths[this.#turn++ % paths.length]!
    try {
      const answer = await this.#client.get(path)
      const isTrue = answer.status === 200 && answer.body.equals(this.#truth.get(path)!)
      const { outcome, reason } = outcomeOf(answer)
      if (!isTrue) this.failures.push(`${answer.status} ${outcome}/${reason} ${path}`)
      const name = `${outcome}/${reason}`
      this.outcomes.set(name, (this.outcomes.get(name) ?? 0) + 1)
      return name
    } catch (error) {
      this.failures.push(`${error} ${path}`)
      return 'failed'
    } finally {
      this.count++
    }
  }

  async close(): Promise<void> {
    this.#isStopping = true
    await this.#finished
    await this.#client.close().catch(() => {})
  }

  async #work(): Promise<void> {
    while (!this.#isStopping && this.failures.length < 10) await this.one()
  }
}

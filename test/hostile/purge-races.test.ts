/**
 * Purges that race with fetches, with each other and with a crash, in a process with two workers and LMDB: purged data
 * does not come back.
 */
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { ask } from '../proxy/client.ts'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { scratchDirectory } from '../stores/scratch.ts'
import { eventually, until } from '../wait.ts'
import { many, type RunningWorkers, startWorkers } from '../workers/running-workers.ts'

const start = Date.UTC(2026, 0, 1)
const minute = 60_000
const pathOf = (panel: number, shift = 0): string =>
  rangePath({ query: `panel${panel}`, start: start + shift * minute, end: start + (shift + 30) * minute })

const flagsFor = (directory: string): string[] => [
  ...['--stores.disk.type=lmdb', `--stores.disk.path=${directory}`, '--stores.disk.reserve=1MiB'],
  ...['--backends.main.store=disk', '--telemetry.log-level=silent'],
]

/** The oldest generation of data in a body: every point contains its generation. */
function oldestIn(body: Buffer): number {
  const values = [...body.toString().matchAll(/,"(\d+)"\]/g)].map(([, value]) => Number(value))
  assert.ok(values.length > 0, body.toString())
  return Math.min(...values)
}

/** Answers later, with the data at the time of the query. */
function answerLate(upstream: ScriptedUpstream, delayMs: () => number) {
  upstream.script = (request: IncomingMessage, response: ServerResponse) => {
    const { generation } = upstream
    const search = new URLSearchParams(request.url!.split('?')[1])
    systemClock.after(delayMs(), () => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(matrixFor(search, generation))
    })
  }
}

/** On a busy machine the store may be too slow to keep the mark, and reports that: then the purge is repeated. */
async function purge({ post }: RunningWorkers, selection: object): Promise<void> {
  const report = await eventually(
    () => post('/-/purge', selection),
    ({ durable }) => durable === true,
  )
  // Data fetched in the millisecond of the purge counts as purged: wait for the next one, so that it is kept.
  await until(() => systemClock.now() > Date.parse(String(report['at'])))
}

test('a fetch in progress cannot bring back purged data, in any worker', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const running = await startWorkers(t, { upstream, flags: flagsFor(scratchDirectory()) })
  const held: (() => void)[] = []
  upstream.script = (request, response) => {
    const { generation } = upstream
    const search = new URLSearchParams(request.url!.split('?')[1])
    held.push(() => response.end(matrixFor(search, generation)))
  }
  const early = running.askMany(many(pathOf(0), 8))
  await until(() => held.length > 0)
  const before = held.splice(0)
  upstream.generation = 2
  await purge(running, { all: true })
  const late = running.askMany(many(pathOf(0), 8))
  await until(() => held.length > 0)
  // Requests that waited for another worker's fetch query the database themselves, because nothing of it was stored.
  answerLate(upstream, () => 0)
  for (const release of [...before, ...held]) release()
  for (const { body } of await early) assert.ok(oldestIn(body) >= 1)
  for (const { body } of await late) assert.equal(oldestIn(body), 2)
  for (const { body } of await running.askMany(many(pathOf(0)))) assert.equal(oldestIn(body), 2)
})

test('purges, fetches and a kill at any time: no request after a purge gets earlier data', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const random = seededRandom(7)
  answerLate(upstream, () => 20 * random())
  const flags = flagsFor(scratchDirectory())
  let running = await startWorkers(t, { upstream, flags })
  /** The last purged generation: requests from now on get this generation or a later one. */
  let purged = 1
  let answers = 0
  const lives = 2
  const viewer = async (rounds: number): Promise<void> => {
    for (let i = 0; i < rounds; i++) {
      const path = pathOf(Math.floor(4 * random()), Math.floor(6 * random()))
      const least = purged
      const { body } = await ask(running.url, path)
      answers++
      assert.ok(oldestIn(body) >= least, `${oldestIn(body)} after a purge of ${least}`)
    }
  }
  const purger = async (rounds: number, selection: object): Promise<void> => {
    for (let i = 0; i < rounds; i++) {
      const generation = ++upstream.generation
      await purge(running, selection)
      purged = Math.max(purged, generation)
    }
  }
  for (let life = 0; life < lives; life++) {
    await Promise.all([
      ...many(0, 8).map(() => viewer(25)),
      ...[purger(8, { all: true }), purger(8, { backend: 'main' })],
    ])
    running.child.process.kill('SIGKILL')
    await running.child.exit
    running = await startWorkers(t, { upstream, flags })
  }
  await viewer(20)
  assert.equal(answers, lives * 8 * 25 + 20)
})

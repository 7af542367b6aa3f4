/** All workers know the observations of one: at once, after a reload, and when they are started again. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { askPlainly, statusOf } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { scratchDirectory } from '../stores/scratch.ts'
import { eventually } from '../wait.ts'
import { many, startWorkers } from './running-workers.ts'

const start = Date.UTC(2026, 0, 1)
const window = rangePath({ start, end: start + 30 * 60_000 })
/** So many buckets that a refetch teaches at once: changes of a few could be part of a correction. */
const longWindow = rangePath({ start, end: start + 4 * 3_600_000 })

interface LearningStatus {
  readonly events: number
  readonly shapes: number
  readonly sources: number
  readonly rows: { readonly own: number; readonly foreign: number }
  readonly dropped: number
}

/** All on one connection, and so by one worker. */
async function refresh(url: string, times: number, before: () => void): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { 'Cache-Control': 'no-cache' }
  for (let i = 0; i < times; i++) {
    before()
    await new Promise<void>((resolve, reject) => {
      const request = get(`${url}${longWindow}`, { agent, headers }, (response) => {
        response.resume().on('end', resolve)
      })
      request.on('error', reject)
    })
  }
  agent.destroy()
}

test('the observations of one worker decide the TTLs of all', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const directory = scratchDirectory()
  const file = join(directory, 'windowpane.yaml')
  const written = (staleness: string) =>
    writeFile(
      file,
      [
        `stores: { disk: { type: lmdb, path: "${directory}/store", reserve: 1MiB } }`,
        `backends: { main: { url: "${upstream.url}", store: disk } }`,
        `policies: { default: { staleness: ${staleness}, floor: 1ms } }`,
      ].join('\n'),
    )
  const learning = async (admin: string): Promise<LearningStatus> => {
    const status = JSON.parse((await askPlainly(admin, '/-/status')).body.toString())
    return status.backends[0].learning
  }
  await written('1%')
  const flags = ['--config', file]
  const first = await startWorkers(t, { flags })
  /** Whether any answer comes from buckets that stay fresh for a while, on connections to all workers. */
  const areFresh = async ({ askMany }: typeof first) =>
    new Set(
      (await askMany(many(longWindow))).map(
        (answer) => Number(statusOf(answer).parameters.get('ttl') ?? 0) > 5,
      ),
    )

  await first.askMany([longWindow])
  // Until then the TTL is that of the ladder. For a moment it is not, where an epoch of the shape is about to end.
  await eventually(
    () => areFresh(first),
    (states) => !states.has(false),
  )
  await refresh(first.url, 20, () => upstream.generation++)
  const { shapes, sources, dropped } = await eventually(
    () => learning(first.admin),
    ({ events }) => events >= 20,
  )
  assert.deepEqual([shapes, sources, dropped], [1, 1, 0])

  // Another budget has the rates fitted again at once. Buckets that change whenever they are looked at get the floor.
  await written('2%')
  assert.equal((await askPlainly(first.admin, '/-/reload', { method: 'POST' })).status, 200)
  assert.deepEqual(await areFresh(first), new Set([false]))

  first.child.process.kill('SIGUSR2')
  await first.child.says(/the worker is back/, 'err')
  assert.deepEqual(await areFresh(first), new Set([false]), 'a worker that is started again knows it, too')

  first.child.process.kill('SIGTERM')
  assert.equal(await first.child.exit, 0)
  const second = await startWorkers(t, { flags })
  await second.askMany([longWindow])
  assert.deepEqual(await areFresh(second), new Set([false]), 'and so does the next process')
  await eventually(
    () => learning(second.admin),
    ({ rows }) => rows.own > 0 && rows.foreign === 0,
  )
})

test('a correction that one worker finds is fetched by all', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const flags = ['--staleness=1%']
  const { askMany } = await startWorkers(t, { upstream, flags, hooks: ['frequent-sentinels.ts'] })
  const [before] = await askMany([window])
  upstream.generation++
  const direct = await askPlainly(upstream.url, window)
  assert.notDeepEqual(direct.body, before!.body)
  const details: string[] = []
  await eventually(
    () => askMany(many(window)),
    (answers) => {
      for (const answer of answers) details.push(String(statusOf(answer).parameters.get('detail')))
      return answers.every(({ body }) => body.equals(direct.body))
    },
  )
  // Buckets also lapse once such changes have been learned: these are fetched because they were marked.
  assert.ok(
    details.some((detail) => detail.includes('purged')),
    [...new Set(details)].join(),
  )
  assert.ok((await askMany([window]))[0]!.body.equals(direct.body))
})

test('taking samples ends with the workers that take them', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const { admin, askMany, child } = await startWorkers(t, { upstream, flags: ['--staleness=1%'] })
  const windows = Array.from({ length: 24 }, (_, i) =>
    rangePath({ query: `up${i}`, start, end: start + 30 * 60_000 }),
  )
  await askMany(windows)
  const asked = upstream.next()
  const sampling = askPlainly(admin, '/-/ttl/learn?gap=1h', { method: 'POST' })
  await asked
  for (const ended of [/a worker ended/, /a worker ended.*a worker ended/s]) {
    child.process.kill('SIGUSR2')
    await child.says(ended, 'err')
  }
  const { status, body } = await sampling
  assert.deepEqual([status, /no shape can be sampled/.test(body.toString())], [400, true])
})

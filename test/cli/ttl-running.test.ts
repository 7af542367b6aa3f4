/** End to end: a proxy that learns, queried by the command, fed with history and by a backfill job. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import type { BackendTtl, Learnt } from '../../src/proxy/admin/ttl.ts'
import { ask, askPlainly } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { runToEnd, startProxy } from './child.ts'

for (const workers of ['1', '2']) {
  test(`one flag makes a proxy with ${workers} thread(s) learn, and the curve names its evidence`, async (t) => {
    const { admin, child } = await startProxy(
      t,
      '--staleness=2%',
      '--admin.allow-writes',
      `--workers=${workers}`,
    )
    const curve = async (): Promise<BackendTtl> =>
      JSON.parse((await runToEnd(t, ['ttl', '--json', '--admin', admin])).out)
    const before = await curve()
    assert.deepEqual([before.backend, before.budget, before.classes.at(-1)!.source], ['main', 0.02, 'prior'])
    // Looked at for 5 days in all, and never changed.
    const line = JSON.stringify({ shape: 'up', age: 100_000, gap: 3600, changed: false })
    const argv = ['ttl', 'learn', '--from', '-', '--json', '--admin', admin]
    const taught = await runToEnd(t, argv, { input: `${line}\n`.repeat(120) })
    assert.equal(taught.code, 0, taught.err)
    assert.deepEqual(JSON.parse(taught.out), { backend: 'main', observations: 120, changed: 0, shapes: 1 })
    const { source, observations, rate, ttlS } = (await curve()).classes.at(-1)!
    assert.equal(source, 'backend')
    assert.ok(observations > 119 && rate! < 1e-5 && ttlS > 3600, JSON.stringify({ observations, rate, ttlS }))
    const get = async (path: string) => (await askPlainly(admin, path)).body.toString()
    const [{ staleness }] = JSON.parse(await get('/-/status')).backends
    assert.deepEqual([staleness.budget, staleness.isKept, staleness.groups.length], [0.02, null, 6])
    const oldest = staleness.groups.at(-1)
    assert.deepEqual([oldest.ageFromS, oldest.ageToS, oldest.samples], [86_400, null, 0])
    assert.match(
      await get('/-/metrics'),
      new RegExp(`^windowpane_learned_ttl_seconds{backend="main",age="24h"} ${oldest.ttlS}$`, 'm'),
    )
    const body = JSON.stringify({ backend: 'main', source: 'up', from: '-2d', to: 'now' })
    const marked = await askPlainly(admin, '/-/changed', { method: 'POST', body })
    assert.deepEqual(JSON.parse(marked.body.toString()), { marks: 1 })
    child.process.kill('SIGTERM')
    assert.equal(await child.exit, 0)
  })
}

for (const workers of ['1', '2']) {
  test(`recently requested shapes are sampled by ${workers} thread(s) where no history is at hand`, async (t) => {
    const flags = ['--staleness=2%', '--admin.allow-writes', `--workers=${workers}`]
    const { admin, url, upstream } = await startProxy(t, ...flags)
    const learn = (samples: number) =>
      runToEnd(t, ['ttl', 'learn', '--gap', '1s', `--samples=${samples}`, '--json', '--admin', admin])
    const learned = async (samples: number): Promise<Learnt> => {
      const { code, out, err } = await learn(samples)
      assert.equal(code, 0, err)
      return JSON.parse(out)
    }
    const idle = await learn(30)
    assert.equal(idle.code, 2)
    assert.match(
      idle.err,
      /no shape can be sampled: none that learns was fetched within the last ten minutes/,
    )
    const to = systemClock.now() - 3_600_000
    const askFor = async (query: string) => {
      const path = rangePath({ query, start: to - 14_400_000, end: to })
      assert.equal((await ask(url, path)).status, 200)
    }
    await askFor('up')
    upstream.generation = 2
    const { backend, shapes, observations, changed } = await learned(30)
    assert.deepEqual([backend, shapes], ['main', 1])
    // Between the request and the first fetch everything changed, between the two fetches nothing.
    assert.equal(changed, observations / 2)
    assert.ok(observations >= 20 && observations <= 60, String(observations))
    const status = JSON.parse((await askPlainly(admin, '/-/status')).body.toString())
    const { refetched } = status.backends[0].learning
    const known = refetched.same + refetched.changed
    assert.ok(known >= observations, `${known}: it is learned as soon as the answer is there`)
    // On connections of their own, which the system spreads over the workers.
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(askFor))
    assert.equal((await learned(200)).shapes, 8)
  })
}

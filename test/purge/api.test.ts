/** `POST /-/purge` and `GET /-/marks`: accepted and refused parameters, and access. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { Budget } from '../../src/core/budget.ts'
import { Marks } from '../../src/engine/marks.ts'
import { Purge } from '../../src/engine/purge/purge.ts'
import type { AdminOptions } from '../../src/proxy/admin/admin.ts'
import type { Cells } from '../../src/stores/cells.ts'
import { memoryCells } from '../../src/stores/memory/cells.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { NOW, startProxyRig } from '../admin/proxy-rig.ts'
import { askPlainly } from '../proxy/client.ts'
import { entryOf, keyNumber } from '../stores/truth.ts'

interface Desk {
  readonly purge: Purge
  post(body: unknown, path?: string): Promise<{ status: number; text: string; json: Record<string, unknown> }>
  get(path: string): Promise<string>
}

interface DeskOptions {
  readonly admin?: Partial<AdminOptions>
  readonly cells?: Cells
}

/** Three shapes of ten buckets each, one per second, that end now. */
async function openDesk(t: TestContext, { admin, cells }: DeskOptions = {}): Promise<Desk> {
  const clock = fakeClock(NOW)
  const limits = { retentionMs: 86_400_000, maxBucketsPerShape: 1000 }
  const store = memoryStore({ clock, budget: new Budget(1 << 24), ...limits })
  const last = NOW / 1000
  for (const n of [0, 1, 2]) store.write(keyNumber(n), entryOf(n, { from: last - 9, to: last + 1 }, NOW))
  const purge = new Purge(clock, [
    { backend: 'truth', store, marks: new Marks({ clock, retentionMs: limits.retentionMs, cells }) },
  ])
  const proxy = await startProxyRig(t, { purge, allowsWrites: () => true, ...admin })
  return {
    purge,
    async post(body, path = '/-/purge') {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const answer = await askPlainly(proxy.admin, path, { method: 'POST', body: text })
      const said = answer.body.toString()
      return { status: answer.status, text: said, json: answer.status === 200 ? JSON.parse(said) : {} }
    },
    async get(path) {
      return (await askPlainly(proxy.admin, path)).body.toString()
    },
  }
}

const dry = '/-/purge?dryRun=1'

test('a dry run counts and changes nothing, a run counts the same and is over', async (t) => {
  const desk = await openDesk(t)
  const expected = {
    at: new Date(NOW).toISOString(),
    shapes: 1,
    buckets: 10,
    selection: { source: 's1' },
    examples: [{ key: keyNumber(1), text: 'shape 1', backend: 'truth', buckets: 10 }],
  }
  for (let i = 0; i < 2; i++) {
    assert.deepEqual((await desk.post({ source: 's1' }, dry)).json, { dryRun: true, ...expected })
  }
  assert.equal(await desk.get('/-/marks'), '[]\n')
  assert.deepEqual((await desk.post({ source: 's1' })).json, { dryRun: false, durable: true, ...expected })
  assert.deepEqual((await desk.post({ source: 's1' }, dry)).json['buckets'], 0)
  assert.deepEqual(JSON.parse(await desk.get('/-/marks')), [
    { kind: 'purge', source: 's1', at: new Date(NOW).toISOString() },
  ])
})

test('times are read in every form', async (t) => {
  const desk = await openDesk(t)
  const from = async (value: unknown, more: object = {}): Promise<unknown> => {
    const { json, text } = await desk.post({ from: value, shape: keyNumber(0), ...more }, dry)
    return json['buckets'] ?? text
  }
  const iso = new Date(NOW - 3000).toISOString()
  for (const value of [
    iso,
    iso.replace('Z', '+00:00'),
    (NOW - 3000) / 1000,
    String((NOW - 3000) / 1000),
    '-3s',
    '-0.05m',
  ])
    assert.equal(await from(value), 4, String(value))
  assert.equal(await from('now'), 1)
  assert.equal(await from('-1w', { to: '-0.001h' }), 6)
  const { json } = await desk.post({ from: '-1h', to: 'now', backend: 'truth' }, dry)
  assert.deepEqual(json['selection'], {
    backend: 'truth',
    from: new Date(NOW - 3_600_000).toISOString(),
    to: new Date(NOW).toISOString(),
  })
})

const wrong: readonly (readonly [body: unknown, sentence: RegExp])[] = [
  ['', /not JSON/],
  ['{', /not JSON/],
  [[], /expected an object/],
  ['null', /expected an object/],
  ['7', /expected an object/],
  [{}, /name the data to purge: one or more of backend, shape, source, from, to, or "all": true/],
  [{ all: false }, /name the data to purge/],
  [{ all: 1 }, /"all" is true or false/],
  [{ all: true, source: 'up' }, /"all" means everything: give it alone/],
  [{ metric: 'up' }, /"metric" is not known; expected an object with backend, shape, source/],
  [{ backend: 'other' }, /there is no backend "other"; there are: truth/],
  [{ source: '' }, /"source" is not a text/],
  [{ shape: ['x'] }, /"shape" is not a text/],
  [{ shape: 'x'.repeat(9000) }, /more than 8192 bytes; name a shape by its key/],
  [{ from: 'yesterday' }, /"from" is not a time; times are RFC 3339/],
  [{ from: '-2' }, /"from" is not a time/],
  [{ from: '-2x' }, /"from" is not a time/],
  [{ to: '2026-02-30T00:00:00Z' }, /"to" is not a time/],
  [{ to: '2026-01-01' }, /"to" is not a time/],
  [{ to: 1e300 }, /"to" is not a time/],
  [{ to: null }, /"to" is not a time/],
  [{ from: 'now', to: 'now' }, /"from" must lie before "to"/],
  [{ from: 'now', to: '-1h' }, /"from" must lie before "to"/],
]

test('an unknown selection is refused with a sentence, and purges nothing', async (t) => {
  const desk = await openDesk(t)
  for (const [body, sentence] of wrong) {
    for (const path of ['/-/purge', dry]) {
      const { status, text } = await desk.post(body, path)
      assert.equal(status, 400, JSON.stringify(body))
      assert.match(text, sentence)
    }
  }
  assert.match((await desk.post({ all: true }, '/-/purge?dryRun=maybe')).text, /dryRun is 1 or 0/)
  assert.equal(await desk.get('/-/marks'), '[]\n')
  assert.match(await desk.get('/-/'), /^POST \/-\/purge/m)
})

test('where nothing may be changed, counting is allowed and purging is not', async (t) => {
  const desk = await openDesk(t, { admin: { allowsWrites: () => false } })
  assert.equal((await desk.post({ all: true }, dry)).json['buckets'], 30)
  for (const path of ['/-/purge', '/-/purge?dryRun=0', '/-/purge?dryRun=maybe', '/-/purge?dryrun=1']) {
    const { status, text } = await desk.post({ all: true }, path)
    assert.deepEqual([path, status], [path, 403])
    assert.match(text, /admin\.allowWrites/)
  }
  assert.equal(await desk.get('/-/marks'), '[]\n')
})

test('where a token is required, nothing works without it', async (t) => {
  const desk = await openDesk(t, { admin: { token: () => 'secret' } })
  for (const path of ['/-/purge', dry]) assert.equal((await desk.post({ all: true }, path)).status, 401)
  assert.match(await desk.get('/-/marks'), /token/)
})

test('a mark that the store could not keep: the purge holds, and the answer reports the limitation', async (t) => {
  const cells = { ...memoryCells({ clock: fakeClock() }), publish: () => assert.fail('the disk is full') }
  const desk = await openDesk(t, { cells: cells as Cells })
  const { json } = await desk.post({ all: true })
  assert.deepEqual([json['durable'], json['buckets']], [false, 30])
  assert.match(String(json['note']), /holds in this process until it ends/)
  assert.equal((await desk.post({ all: true }, dry)).json['buckets'], 0)
})

/** Laws of objects about rows, versions and invalidations; see test-objects.ts. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { countedRender, eventually, minute, renderOf, shown, shownBy } from './object-rig.ts'
import type { ObjectLaw } from './test-objects.ts'

const bytesOf = (text: string): Uint8Array => Buffer.from(text)
const pkOf = (tenant: string, key: string): string => `TENANT#${tenant}#CACHE#${hash('sha256', key)}`

export const objectLaws: Readonly<Record<string, ObjectLaw>> = {
  async 'a second node finds the object that the first has rendered'({ node, clock }) {
    const [a, b] = [node(), node()]
    const render = countedRender(() => ({ body: bytesOf('v1'), status: 203, headers: ['X-A', 'é'] }))
    const first = await eventually(clock, a.get('k', render, minute))
    const second = await eventually(clock, b.get('k', render, minute))
    assert.deepEqual([first.state, second.state, render.calls], ['miss', 'hit', 1])
    assert.deepEqual([second.status, second.headers], [203, ['X-A', 'é']])
    assert.deepEqual([second.etag, second.generatedAt], [first.etag, first.generatedAt])
    assert.equal(shown(second), 'hit v1')
  },

  async 'bodies of any length come back byte for byte, in as many chunks as they need'({
    node,
    cells,
    clock,
  }) {
    const size = cells.capabilities.maxValueBytes
    for (const length of [0, 1, size, 3 * size + 1]) {
      const body = Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) & 0xff)
      const [a, b] = [node(), node()]
      await eventually(
        clock,
        a.get(`k${length}`, async () => body, minute),
      )
      const found = await eventually(clock, b.get(`k${length}`, renderOf('other'), minute))
      assert.equal(found.state, 'hit')
      assert.ok(Buffer.from(found.body).equals(body), `${length} bytes`)
      const rows = await eventually(clock, cells.list(pkOf('default', `k${length}`), 1))
      assert.equal(rows.filter(([sk]) => sk.startsWith('VER#')).length, Math.ceil(length / size))
    }
  },

  async 'META has the names that other languages read, a TTL, and no body'({ node, cells, clock }) {
    await clock.advance(789)
    const body = 'a body that META must not hold'
    const key = { tenant: 'acme', key: 'k' }
    const answer = node().get(key, async () => body, { revalidateSeconds: 60 })
    const { generatedAt: now } = await eventually(clock, answer)
    const rows = new Map(await eventually(clock, cells.list(pkOf('acme', 'k'), 1)))
    const meta = rows.get('META')!
    const { generated_at, generated_at_ms, revalidate_seconds } = meta.attributes ?? {}
    const seconds = Math.floor(now / 1000)
    assert.deepEqual([generated_at, generated_at_ms, revalidate_seconds], [seconds, now, 60])
    assert.equal(meta.collectAt, Math.ceil(now / 1000 + 7 * 86_400 + 3600))
    assert.ok(!Buffer.from(meta.value).toString().includes(body))
    assert.ok(!rows.has('LOCK'))
    for (const cell of rows.values()) assert.notEqual(cell.collectAt, 'never')
  },

  async 'tenants with equal keys never share an object, whatever they are called'({ node, clock }) {
    const tenants = [
      'a',
      'A',
      'a#CACHE#k',
      'a%23',
      'a#',
      '',
      'é',
      'a b',
      '\0',
      '\ud800',
      '\ud801',
      'x'.repeat(5000),
    ]
    const [a, b] = [node(), node()]
    for (const tenant of tenants)
      await eventually(clock, a.get({ tenant, key: 'k' }, renderOf(JSON.stringify(tenant)), minute))
    for (const tenant of tenants) {
      const found = await eventually(clock, b.get({ tenant, key: 'k' }, renderOf('other'), minute))
      assert.equal(shown(found), `hit ${JSON.stringify(tenant)}`)
    }
  },

  async 'an invalidation reaches other nodes in time, and the stale object survives it'({
    node,
    clock,
    cells,
  }) {
    const [a, b] = [node(), node()]
    const render = countedRender()
    await eventually(clock, a.get('k', render, minute))
    await eventually(clock, b.get('k', render, minute))
    await eventually(clock, a.invalidate('k'))
    assert.ok(await eventually(clock, cells.get({ pk: pkOf('default', 'k'), sk: 'META' }, 1)))
    render.gives = () => Promise.reject(new Error('down'))
    assert.equal(await shownBy(clock, a.get('k', render, minute)), 'stale v1')
    await clock.advance(5000)
    assert.equal(await shownBy(clock, b.get('k', render, minute)), 'stale v1')
    render.gives = () => 'v2'
    assert.equal(await shownBy(clock, b.get('k', render, minute)), 'miss v2')
    assert.equal(await shownBy(clock, a.get('k', render, minute)), 'hit v2')
    assert.equal(await shownBy(clock, b.get('k', render, minute)), 'hit v2')
  },

  async 'a tag invalidates the objects that have it, and a tenant all of its own'({ node, clock }) {
    const [a, b] = [node(), node()]
    const keys = [
      { tenant: 't', key: '1', tags: ['red'] },
      { tenant: 't', key: '2', tags: ['red', 'blue'] },
      { tenant: 't', key: '3' },
      { tenant: 'u', key: '1', tags: ['blue'] },
    ]
    const statesAfter = async (): Promise<string> => {
      await clock.advance(5000)
      const found = keys.map((key) => b.get(key, renderOf('v'), { revalidateSeconds: 3600 }))
      return (await eventually(clock, Promise.all(found))).map(({ state }) => state).join(' ')
    }
    assert.equal(await statesAfter(), 'miss miss miss miss')
    await eventually(clock, a.invalidate({ tenant: 't', tag: 'blue' }))
    assert.equal(await statesAfter(), 'hit miss hit hit')
    await eventually(clock, a.invalidate({ tenant: 't', tag: 'red' }))
    assert.equal(await statesAfter(), 'miss miss hit hit')
    await eventually(clock, a.invalidate({ tenant: 't' }))
    assert.equal(await statesAfter(), 'miss miss miss hit')
    assert.equal(await statesAfter(), 'hit hit hit hit')
  },

  async 'a rollback puts the previous version back, step by step, on every node'({ node, clock }) {
    const [a, b] = [node(), node()]
    const render = countedRender()
    for (const _ of [1, 2, 3]) {
      await eventually(clock, a.get('k', render, { revalidateSeconds: 60 }))
      await clock.advance(60_000)
    }
    await eventually(clock, b.get('k', render, { revalidateSeconds: 600 }))
    for (const back of ['v2', 'v1']) {
      assert.equal(await eventually(clock, a.rollback('k')), true)
      assert.equal(await shownBy(clock, a.get('k', render, minute)), `hit ${back}`)
      await clock.advance(5000)
      assert.equal(await shownBy(clock, b.get('k', render, { revalidateSeconds: 600 })), `hit ${back}`)
    }
    assert.equal(await eventually(clock, a.rollback('k')), false)
    assert.equal(render.calls, 3)
    await clock.advance(60_000)
    assert.equal(await shownBy(clock, a.get('k', render, { revalidateSeconds: 60 })), 'miss v4')
  },

  async 'a version that no rollback can reach any more is removed'({ node, cells, clock }) {
    const cache = node()
    const render = countedRender()
    for (const _ of [1, 2, 3, 4, 5, 6]) {
      await eventually(clock, cache.get('k', render, { revalidateSeconds: 60 }))
      await clock.advance(60_000)
    }
    const rows = await eventually(clock, cells.list(pkOf('default', 'k'), 1))
    assert.equal(rows.filter(([sk]) => sk.startsWith('VER#')).length, 4)
    for (const back of ['v5', 'v4', 'v3']) {
      assert.equal(await eventually(clock, cache.rollback('k')), true)
      assert.equal(await shownBy(clock, cache.get('k', render, minute)), `hit ${back}`)
    }
    assert.equal(await eventually(clock, cache.rollback('k')), false)
  },

  async 'a response that is not stored keeps the stored version: errors, 4xx, and forbidden ones'({
    node,
    clock,
  }) {
    const [a, b] = [node(), node()]
    const render = countedRender()
    const terms = { revalidateSeconds: 60, staleIfErrorSeconds: 600 }
    await eventually(clock, a.get('k', render, terms))
    await clock.advance(60_000)
    for (const [given, expected] of [
      [{ status: 404 }, 'miss no'],
      [{ status: 200, isStorable: false }, 'miss no'],
      [{ status: 429 }, 'miss no'],
      [{ status: 501 }, 'miss no'],
      [{ status: 500 }, 'stale v1'],
      [{ status: 503 }, 'stale v1'],
    ] as const) {
      render.gives = () => ({ ...given, body: bytesOf('no') })
      assert.equal(await shownBy(clock, a.get('k', render, terms)), expected, JSON.stringify(given))
    }
    render.gives = () => Promise.reject(new Error('down'))
    assert.equal(await shownBy(clock, b.get('k', render, terms)), 'stale v1')
    render.gives = () => ({ status: 404, isStorable: true, body: bytesOf('gone') })
    assert.equal(await shownBy(clock, a.get('k', render, terms)), 'miss gone')
    assert.equal(await shownBy(clock, b.get('k', render, terms)), 'hit gone')
  },
}

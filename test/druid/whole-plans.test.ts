/** Requests that are planned as one are one to a real Druid, and its answers are recognised as complete. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HeaderList, WireRequest } from '../../src/backends/backend.ts'
import { druid as druidBackend } from '../../src/backends/druid/index.ts'
import { requireServer } from '../data/fixture.ts'
import { ask } from '../servers/druid/ask.ts'
import { startDruidFixture } from './fixture.ts'
import { wholeForms } from './whole-forms.ts'

const { whole } = druidBackend({ maxBuckets: 10_000 })
const now = Date.UTC(2026, 5, 1)

const requestOf = (path: string, body: object): WireRequest => ({
  ...{ method: 'POST', path, search: '', headers: ['content-type', 'application/json'] },
  body: Buffer.from(JSON.stringify(body)),
})
const listOf = (headers: Record<string, unknown>): HeaderList =>
  Object.entries(headers).flatMap(([name, value]) => [name, String(value)])

test('whole answers of a real Druid', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())

  for (const { name, endpoint, path, body, same, isVouchable } of wholeForms('tiny')) {
    await t.test(name, async () => {
      const plan = whole!.plan(requestOf(path, body), now)
      assert.ok(plan, 'it is not planned')
      assert.equal(plan.endpoint, endpoint)
      assert.equal(plan.span !== undefined, isVouchable)
      const { status, text, headers, trailers } = await ask(`${druid.brokerUrl}${path}`, body)
      assert.equal(status, 200, text)
      const response = { headers: listOf(headers), trailers: listOf(trailers) }
      assert.ok(whole!.isComplete!(Buffer.from(text), plan, response), text)
      assert.ok(!whole!.isComplete!(Buffer.from(text.slice(0, -1)), plan, response))
      for (const other of [body, ...same]) {
        assert.equal(whole!.plan(requestOf(path, other), now)?.text, plan.text, JSON.stringify(other))
        assert.equal((await ask(`${druid.brokerUrl}${path}`, other)).text, text, JSON.stringify(other))
      }
    })
  }
})

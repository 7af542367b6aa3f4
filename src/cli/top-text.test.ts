import assert from 'node:assert/strict'
import test from 'node:test'
import type { FleetStatus } from './proxy-identity.ts'
import { type TopShape, topLines } from './top-text.ts'

const row = (changed: Partial<TopShape>): TopShape => ({
  ...{ shape: 'q', backend: 'main', stepMs: 86_400_000, count: 1, outcomes: {}, bytes: 0 },
  ...{ savedSeconds: 0, asked: 0, askedSeconds: 0 },
  ...changed,
})

test('a shape is shown with its step, or its days or months', () => {
  const calendar = { unit: 'month', count: 3, zone: 'Asia/Kolkata', origin: 0 }
  const shapes = [row({}), row({ calendar }), row({ calendar: { unit: 'moon' } }), row({ stepMs: 0 })]
  const lines = topLines({ by: 'requests', status: { version: '1', uptimeSeconds: 1 }, shapes }, {}, 9)
  const told = lines.slice(4).map((line) => line.trim().split(/ {2,}/).at(-1))
  assert.deepEqual(told, ['@86400s q', '@3 months in Asia/Kolkata q', '@86400s q', 'q'])
})

test('several nodes, or that they cannot be seen, are shown in a line of their own', () => {
  const status = { version: '1', uptimeSeconds: 1 }
  const secondLine = (fleet: FleetStatus | undefined, node?: string) =>
    topLines(
      { by: 'requests', node, status: { ...status, ...(fleet && { fleet }) }, shapes: [row({})] },
      {},
      9,
    )[1]
  const alone = { state: 'alone', up: 1, missing: 0 }
  for (const fleet of [undefined, alone]) assert.equal(secondLine(fleet), 'Most requests first')
  assert.equal(secondLine({ state: 'shared', up: 3, missing: 1 }), '3 nodes as one, 1 missing')
  assert.equal(secondLine({ ...alone, state: 'unreachable', detail: 'it is gone' }), 'it is gone')
  assert.equal(secondLine(alone, 'b'), 'node b only')
})

/** `/-/ttl`, `/-/ttl/learn` and `/-/changed`: responses, accepted bodies and refusals. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { Budget } from '../../src/core/budget.ts'
import { Marks } from '../../src/engine/marks.ts'
import { Purge } from '../../src/engine/purge/purge.ts'
import { shapesNamed } from '../../src/engine/shapes-named.ts'
import type { AdminOptions } from '../../src/proxy/admin/admin.ts'
import type { BackendTtl, TtlDatabase } from '../../src/proxy/admin/ttl.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { fixed } from '../../src/ttl/fixed.ts'
import { learned } from '../../src/ttl/learned/learned-policy.ts'
import type { ClassReport, LearnedEvent, Learning } from '../../src/ttl/learned/learning.ts'
import { askPlainly } from '../proxy/client.ts'
import { entryOf, keyNumber } from '../stores/truth.ts'
import { NOW, startProxyRig } from './proxy-rig.ts'

const staleness = { estimate: 0.008, low: 0.004, high: 0.016, samples: 500, error: 0.1 }
const oneClass: ClassReport = {
  ...{ fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY, rate: 1e-6, rateUpper95: 2e-6 },
  ...{ observations: 40, ttlMs: 10_000, source: 'backend', boundBy: undefined, staleness },
}

class FakeLearning implements Learning {
  readonly events: LearnedEvent[] = []
  policyFor = () => assert.fail('nobody asks for a policy here')

  observe(event: LearnedEvent): void {
    this.events.push(event)
  }

  report: Learning['report'] = (_terms, shape) => [
    { ...oneClass, source: shape === undefined ? 'backend' : 'shape' },
  ]
}

interface Desk {
  readonly learning: FakeLearning
  get(path: string): Promise<{ status: number; text: string }>
  post(path: string, body: unknown): Promise<{ status: number; text: string }>
}

/** `main` learns, also by a rule; `other` does not. Shapes 0 to 2 are of `truth`. */
async function openDesk(t: TestContext, changed: Partial<AdminOptions> = {}): Promise<Desk> {
  const clock = fakeClock(NOW)
  const limits = { retentionMs: 86_400_000, maxBucketsPerShape: 1000 }
  const store = memoryStore({ clock, budget: new Budget(1 << 24), ...limits })
  for (const n of [0, 1, 2])
    store.write(keyNumber(n), entryOf(n, { from: NOW / 1000 - 9, to: NOW / 1000 }, NOW))
  const learning = new FakeLearning()
  const shapes: TtlDatabase['shapesNamed'] = (names) => shapesNamed(store, 'truth', names)
  const policies = [{ policy: learned({ staleness: 0.01 }) }, { rule: 'exact', policy: fixed(1000) }]
  const sample: TtlDatabase['sample'] = async ({ gapMs, samples }) =>
    samples === 7 ? 'busy' : { observations: samples, changed: gapMs, shapes: 1 }
  const databases = new Map<string, TtlDatabase>([
    ['main', { policies, learning, shapesNamed: shapes, sample }],
    ['other', { policies: [{ policy: fixed(7000) }], learning, shapesNamed: async () => new Map(), sample }],
  ])
  const purge = new Purge(clock, [
    { backend: 'truth', store, marks: new Marks({ clock, retentionMs: limits.retentionMs }) },
  ])
  const { admin } = await startProxyRig(t, {
    ttl: () => databases,
    purge,
    allowsWrites: () => true,
    ...changed,
  })
  const ask = async (path: string, body?: unknown) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await askPlainly(admin, path, body === undefined ? {} : { method: 'POST', body: text })
    return { status: answer.status, text: answer.body.toString() }
  }
  return { learning, get: (path) => ask(path), post: ask }
}

test('per backend, and per rule with a policy of its own, there is a budget and a curve', async (t) => {
  const desk = await openDesk(t)
  const all = JSON.parse((await desk.get('/-/ttl')).text) as BackendTtl[]
  assert.deepEqual(
    all.map(({ backend, rule, budget, classes }) => [
      backend,
      rule,
      budget,
      classes.length,
      classes[0]!.source,
    ]),
    [
      ['main', undefined, 0.01, 1, 'backend'],
      ['main', 'exact', null, 1, 'configured'],
      ['other', undefined, null, 1, 'configured'],
    ],
  )
  assert.deepEqual(all[0], {
    ...{ backend: 'main', budget: 0.01 },
    classes: [
      {
        ...{ ageFromS: null, ageToS: null, rate: 0.001, rateUpper95: 0.002, observations: 40, ttlS: 10 },
        ...{ source: 'backend', boundBy: null, staleness },
      },
    ],
  })
  const other = JSON.parse((await desk.get('/-/ttl?backend=other')).text) as BackendTtl[]
  assert.deepEqual([other.length, other[0]!.classes[0]!.ttlS], [1, 7])
})

test('a shape is named by its key or by its text', async (t) => {
  const desk = await openDesk(t)
  for (const name of [keyNumber(1), entryOf(1, { from: 0, to: 1 }, NOW).shape.text]) {
    const { text } = await desk.get(`/-/ttl?shape=${encodeURIComponent(name)}`)
    const [first, ...rest] = JSON.parse(text) as BackendTtl[]
    assert.deepEqual([first!.shape, first!.classes[0]!.source, rest.length], [keyNumber(1), 'shape', 1])
  }
})

test('unknown names are refused with a sentence', async (t) => {
  const desk = await openDesk(t)
  assert.deepEqual(await desk.get('/-/ttl?backend=mine'), {
    status: 400,
    text: 'windowpane: there is no backend "mine"; there are: main, other\n',
  })
  assert.deepEqual(await desk.get('/-/ttl?shape=nothing'), {
    status: 400,
    text: 'windowpane: there is no shape "nothing"; /-/shapes lists the known ones\n',
  })
})

const line = (shape: string, changed: boolean) => JSON.stringify({ shape, age: 120, gap: 60, changed })

test('history is learned as refetches of shapes that are known, or of the backend as a whole', async (t) => {
  const desk = await openDesk(t)
  const lines = [line(keyNumber(2), true), line(keyNumber(2), false), line('new', false)]
  const { status, text } = await desk.post('/-/ttl/learn?backend=main', lines.join('\n'))
  assert.equal(status, 200, text)
  assert.deepEqual(JSON.parse(text), { backend: 'main', observations: 3, changed: 1, shapes: 2 })
  assert.deepEqual(
    desk.learning.events.map(
      (event) => event.kind === 'refetch' && [event.shape, event.at, [...event.changed]],
    ),
    [
      [{ key: keyNumber(2), sources: ['s2'] }, NOW, [1, 0]],
      [{ key: 'new', sources: [] }, NOW, [0]],
    ],
  )
})

for (const [path, body, status, sentence] of [
  ['/-/ttl/learn', line('up', true), 400, 'name the backend, one of: main, other'],
  ['/-/ttl/learn?backend=mine', line('up', true), 400, 'there is no backend "mine"; there are: main, other'],
  [
    '/-/ttl/learn?backend=other',
    line('up', true),
    400,
    'no policy of the backend "other" learns: set one with type: learned',
  ],
  [
    '/-/ttl/learn?backend=main',
    `${line('up', true)}\n{}`,
    400,
    'line 2 "shape" is not a text; nothing was learned',
  ],
  ['/-/changed', '{', 400, 'the body is not JSON; expected an object with backend, source, from, to'],
  [
    '/-/changed',
    { shape: 'up' },
    400,
    '"shape" is not known; expected an object with backend, source, from, to',
  ],
  ['/-/changed', { backend: 'truth' }, 400, 'name the changed data: "source", "from", "to"'],
  ['/-/changed', { backend: 'mine', source: 'up' }, 400, 'there is no backend "mine"; there are: truth'],
  ['/-/changed', { from: 2, to: 1 }, 400, '"from" must lie before "to"'],
] as const) {
  test(`refused: ${path} ${JSON.stringify(body)}`, async (t) => {
    const desk = await openDesk(t)
    assert.deepEqual(await desk.post(path, body), { status, text: `windowpane: ${sentence}\n` })
    assert.deepEqual(desk.learning.events, [])
  })
}

test('without a body buckets are sampled, a minute apart by default', async (t) => {
  const desk = await openDesk(t)
  const usual = await desk.post('/-/ttl/learn?backend=main', '')
  assert.deepEqual(JSON.parse(usual.text), { backend: 'main', observations: 100, changed: 60_000, shapes: 1 })
  const told = await desk.post('/-/ttl/learn?backend=main&gap=2m&samples=5', '')
  assert.deepEqual(JSON.parse(told.text), { backend: 'main', observations: 5, changed: 120_000, shapes: 1 })
  for (const [parameters, sentence] of [
    ['gap=10', 'gap is a time from 1s to 1h'],
    ['gap=2h', 'gap is a time from 1s to 1h'],
    ['samples=0', 'samples is a whole number from 1 to 10000'],
    ['samples=7', 'samples are being taken already'],
  ] as const) {
    const refused = await desk.post(`/-/ttl/learn?backend=main&${parameters}`, '')
    assert.deepEqual(refused, { status: 400, text: `windowpane: ${sentence}\n` })
  }
})

test('changed data is marked, and the mark is listed as stale', async (t) => {
  const desk = await openDesk(t)
  const { status, text } = await desk.post('/-/changed', { source: 's1', from: NOW / 1000 - 3600, to: 'now' })
  assert.deepEqual([status, JSON.parse(text)], [200, { marks: 1 }])
  const marks = JSON.parse((await desk.get('/-/marks')).text)
  const [from, at] = [NOW - 3_600_000, NOW].map((ms) => new Date(ms).toISOString())
  assert.deepEqual(marks, [{ kind: 'stale', backend: 'truth', source: 's1', from, to: at, at }])
})

test('a listener that is read-only neither learns nor marks', async (t) => {
  const desk = await openDesk(t, { allowsWrites: () => false })
  assert.equal((await desk.post('/-/ttl/learn?backend=main', line('up', true))).status, 403)
  assert.equal((await desk.post('/-/changed', { source: 's1' })).status, 403)
  assert.equal((await desk.get('/-/ttl')).status, 200)
})

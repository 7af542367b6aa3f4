import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { memoryCells } from '../stores/memory/cells.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { applyPlan, type Declared, planOf } from './declaration.ts'
import { readDeclaration } from './declaration-read.ts'
import { rateText, readLimitText } from './limit-text.ts'
import { LimitRegistry } from './registry.ts'

const ann = { by: 'ann' }

const read = (given: unknown): readonly Declared[] => {
  const declared = readDeclaration(given)
  assert.ok(!('mistake' in declared), JSON.stringify(declared))
  return declared
}

function rig() {
  const clock = fakeClock()
  const registry = new LimitRegistry(memoryCells({ clock }), { clock })
  const plan = async (given: unknown, adopts = false) =>
    planOf(read(given), await registry.list(), { adopts })
  const apply = async (given: unknown, adopts = false) => applyPlan(registry, await plan(given, adopts), ann)
  const actions = async (given: unknown, adopts = false) =>
    (await plan(given, adopts)).items.map(
      ({ action, entity = '', resource = '' }) => `${action} ${entity}/${resource}`,
    )
  return { registry, plan, apply, actions }
}

test('limits are written as name:rate/unit:burst', () => {
  for (const [text, capacity, refillAmount, refillPeriodSeconds, shown] of [
    ['requests:100', 100, 100, 60, '100/min'],
    ['requests:5/sec', 5, 5, 1, '5/sec'],
    ['requests:5/hour:50', 50, 5, 3600, '5/hour, burst 50'],
    ['requests:1/day', 1, 1, 86_400, '1/day'],
  ] as const) {
    const limit = readLimitText(text)
    assert.deepEqual(limit, { name: 'requests', capacity, refillAmount, refillPeriodSeconds })
    assert.equal(rateText(limit as never), shown)
  }
  for (const odd of [
    '',
    'requests',
    'requests:',
    ':5',
    'requests:-1',
    'requests:1/week',
    'a:1:2:3',
    'a:1e3',
    'a:1/min:',
  ]) {
    assert.ok('mistake' in readLimitText(odd), odd)
  }
})

test('only the capacity of a limit is required', () => {
  assert.deepEqual(read({ limits: [{ name: 'requests', capacity: 7 }, 'cost:5/hour'] }), [
    {
      value: [
        { name: 'requests', capacity: 7, refillAmount: 7, refillPeriodSeconds: 60 },
        { name: 'cost', capacity: 5, refillAmount: 5, refillPeriodSeconds: 3600 },
      ],
    },
  ])
})

test('limits may be written as in the configuration, and as in the library', () => {
  const limit = { name: 'a', capacity: 7, refillAmount: 3, refillPeriodSeconds: 7200 }
  const asConfigured = { name: 'a', capacity: 7, refill: 3, every: '2h' }
  assert.deepEqual(read({ limits: [limit] }), read({ limits: [asConfigured] }))
})

test('a mistake is named with its place', () => {
  for (const [given, sentence] of [
    [null, /^the declaration: expected a map with limits, resources, entities$/],
    [[], /expected a map/],
    [{ limit: [] }, /"limit" is not known/],
    [{ limits: {} }, /^limits: expected a list/],
    [{ limits: [] }, /^limits: There are no limits/],
    [{ limits: [5] }, /^limits\[0\]: expected a map with name/],
    [
      { limits: [{ name: 'a' }] },
      /^limits: capacity of the limit "a" is undefined, not a whole number above 0/,
    ],
    [{ limits: [{ name: 'a', capacity: 1, burst: 2 }] }, /"burst" is not known/],
    [
      { limits: [{ name: 'a', capacity: 1, every: '1.5s' }] },
      /^limits\[0\]: every is a time in whole seconds/,
    ],
    [{ limits: ['a:b'] }, /^limits\[0\]: "a:b" is no limit/],
    [{ resources: { 'a b': ['x:1'] } }, /^resources\.a b: "a b" is no name of a resource/],
    [{ entities: { 'a#b': {} } }, /^entities\.a#b: .*no name of an entity/],
    [{ entities: { a: { parent: 'a' } } }, /^entities\.a\.parent: an entity is not its own parent/],
    [{ entities: { a: { parent: 5 } } }, /is a text/],
    [{ entities: { a: { parent: 'b' }, b: { parent: 'c' } } }, /b has a parent itself/],
    [{ entities: { a: { resources: { main: ['x:0'] } } } }, /^entities\.a\.resources\.main: /],
    [{ entities: { ['x'.repeat(5000)]: {} } }, /^entities\.x{80}: the name of an entity has at most 256/],
    [{ limits: [{ name: 'x'.repeat(1_000_000), capacity: 1 }] }, /^limits: The limit name "xxx/],
    [{ limits: Array.from({ length: 200_000 }, () => 'a:1') }, /too many/],
  ] as const) {
    const declared = readDeclaration(given)
    assert.ok('mistake' in declared, JSON.stringify(given).slice(0, 100))
    assert.match(declared.mistake, sentence)
    assert.ok(declared.mistake.length < 400)
  }
})

test('a plan creates, changes and removes the limits that a declaration manages, and nothing else', async () => {
  const { registry, apply, actions, plan } = rig()
  await registry.change({ entity: 'by-hand', limits: [readLimitText('requests:5') as never] }, ann)
  const first = {
    limits: ['requests:100'],
    resources: { main: ['cost:10'] },
    entities: { a: { parent: 'p', limits: ['requests:1'], resources: { main: ['requests:2'] } } },
  }
  assert.deepEqual(await actions(first), [
    'create /',
    'create /main',
    'create a/',
    'create a/',
    'create a/main',
  ])
  assert.deepEqual(await apply(first), { changed: 5 })
  assert.deepEqual(await plan(first), { items: [], unchanged: 5 })
  const second = {
    limits: ['requests:200'],
    entities: { a: { limits: ['requests:1'] }, 'by-hand': { limits: ['requests:9'] } },
  }
  assert.deepEqual(await actions(second), [
    ...['delete /main', 'delete a/main', 'delete a/'],
    ...['update /', 'keep by-hand/'],
  ])
  assert.deepEqual(await apply(second), { changed: 4 })
  assert.deepEqual(await actions(second), ['keep by-hand/'])
  assert.deepEqual(await actions(second, true), ['adopt by-hand/'])
  assert.deepEqual(await apply(second, true), { changed: 1 })
  assert.deepEqual(await actions({}), ['delete /', 'delete a/', 'delete by-hand/'])
})

test('a managed limit that is changed or deleted by hand is restored by the next apply', async () => {
  const { registry, apply, actions } = rig()
  const declared = { limits: ['requests:100'], entities: { a: { limits: ['requests:1'] } } }
  await apply(declared)
  await registry.change({ limits: [readLimitText('requests:5') as never] }, ann)
  await registry.change({ entity: 'a', limits: null }, ann)
  assert.deepEqual(await actions(declared), ['update /', 'create a/'])
  await apply(declared)
  assert.deepEqual(await actions(declared), [])
})

test('a limit set by hand between plan and apply stays unmanaged', async () => {
  const { registry, plan } = rig()
  const planned = await plan({ entities: { a: { limits: ['requests:1'] } } })
  await registry.change({ entity: 'a', limits: [readLimitText('requests:5') as never] }, ann)
  assert.deepEqual(await applyPlan(registry, planned, ann), { changed: 0 })
  assert.equal((await registry.resolve('a', 'main'))!.limits[0]!.capacity, 5)
})

test('an entity may lose its parent and become one in the same declaration', async () => {
  const { apply } = rig()
  await apply({ entities: { a: { parent: 'p' } } })
  assert.deepEqual(await apply({ entities: { b: { parent: 'a' } } }), { changed: 2 })
})

test('after an apply nothing is left to do, whatever was there', async () => {
  const limits = fc
    .array(fc.constantFrom('a:1', 'b:2', 'c:3/day'), { minLength: 1, maxLength: 3 })
    .map((all) => [...new Set(all)])
  const names = fc.constantFrom('x', 'y', 'constructor')
  const resources = fc.dictionary(names, limits, { maxKeys: 2 })
  const declaration = fc.record(
    {
      limits,
      resources,
      entities: fc.dictionary(names, fc.record({ limits, resources }, { requiredKeys: [] })),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(declaration, declaration, declaration, async (byHand, first, second) => {
      const { registry, apply, plan } = rig()
      for (const { value, ...target } of read(byHand)) {
        await registry.change({ ...target, limits: value as never }, ann)
      }
      const untouched = new Map(
        (await registry.list()).map((row) => [JSON.stringify([row.entity, row.resource]), row]),
      )
      for (const declared of [first, second]) {
        await apply(declared)
        assert.ok((await plan(declared)).items.every(({ action }) => action === 'keep'))
      }
      for (const row of await registry.list()) {
        const before = untouched.get(JSON.stringify([row.entity, row.resource]))
        for (const [name, set] of before?.sets ?? []) assert.deepEqual(row.sets.get(name), set)
      }
    }),
    { numRuns: 50 },
  )
})

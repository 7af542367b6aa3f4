import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cells } from '../stores/cells.ts'
import { memoryCells } from '../stores/memory/cells.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import type { Limit } from './limit.ts'
import { type BaseLimits, LimitRegistry } from './registry.ts'

const perMinute = (name: string, capacity: number): Limit => ({
  ...{ name, capacity, refillAmount: capacity },
  refillPeriodSeconds: 60,
})

const ann = { by: 'ann' }

function rig(base: BaseLimits = {}) {
  const clock = fakeClock()
  const cells = memoryCells({ clock })
  const open = (over: Cells = cells) => new LimitRegistry(over, { clock, base: () => base })
  return { clock, cells, open, registry: open() }
}

const found = async (registry: LimitRegistry, entity = 'team-a', resource = 'main') => {
  const resolved = await registry.resolve(entity, resource)
  return resolved && `${resolved.source} ${resolved.limits.map(({ capacity }) => capacity).join(' ')}`
}

test('each level replaces all below it, and a deletion uncovers the next', async () => {
  const { registry } = rig({
    system: [perMinute('requests', 1)],
    resources: new Map([['main', [perMinute('requests', 2)]]]),
  })
  const levels = [
    [{}, 11, 'resource 2'],
    [{ resource: 'main' }, 12, 'resource 12'],
    [{ entity: 'team-a' }, 13, 'entity_default 13'],
    [{ entity: 'team-a', resource: 'main' }, 14, 'entity 14'],
  ] as const
  for (const [target, capacity, expected] of levels) {
    const outcome = await registry.change({ ...target, limits: [perMinute('cost', capacity)] }, ann)
    assert.deepEqual([outcome.ok, await found(registry)], [true, expected])
  }
  assert.equal(await found(registry, 'team-b'), 'resource 12')
  assert.equal(await found(registry, 'team-a', 'other'), 'entity_default 13')
  assert.equal(await found(registry, 'team-b', 'other'), 'system 11')
  for (const [target, expected] of [
    [{ entity: 'team-a', resource: 'main' }, 'entity_default 13'],
    [{ entity: 'team-a' }, 'resource 12'],
    [{ resource: 'main' }, 'resource 2'],
    [{}, 'resource 2'],
  ] as const) {
    await registry.change({ ...target, limits: null }, ann)
    assert.equal(await found(registry), expected)
  }
  assert.equal(await found(registry, 'team-b', 'other'), 'system 1')
})

test('nothing is resolved where no level has limits', async () => {
  const { registry } = rig()
  assert.equal(registry.resolve('team-a', 'main'), undefined)
})

test('a change is seen at once here, and by another process within 60 s', async () => {
  const { clock, open } = rig({ system: [perMinute('requests', 1)] })
  const [here, there] = [open(), open()]
  assert.deepEqual([await found(here), await found(there)], ['system 1', 'system 1'])
  await here.change({ entity: 'team-a', limits: [perMinute('requests', 5)] }, ann)
  assert.deepEqual([await found(here), await found(there)], ['entity_default 5', 'system 1'])
  await clock.advance(60_000)
  assert.equal(await found(there), 'entity_default 5')
})

test('two registries that change one row at once lose neither change', async () => {
  const { open } = rig()
  const [here, there] = [open(), open()]
  const outcomes = await Promise.all(
    [here, there].flatMap((registry, i) =>
      ['a', 'b'].map((resource) =>
        registry.change({ entity: 'team-a', resource: `${resource}${i}`, limits: [perMinute('x', 1)] }, ann),
      ),
    ),
  )
  assert.ok(outcomes.every(({ ok }) => ok))
  const [row] = await here.list()
  assert.deepEqual([row!.version, [...row!.sets.keys()].sort()], [4, ['a0', 'a1', 'b0', 'b1']])
})

test('names that could be taken for keys, and limits that cannot be counted, are refused', async () => {
  const { registry, cells } = rig()
  const fine = [perMinute('requests', 1)]
  for (const [edit, sentence] of [
    [{ entity: 'a#b', limits: fine }, /"a#b" is no name of an entity/],
    [{ entity: '', limits: fine }, /is no name/],
    [{ entity: 'a\u0000b', limits: fine }, /is no name/],
    [{ entity: 'ä', limits: fine }, /is no name/],
    [{ entity: 'x'.repeat(257), limits: fine }, /at most 256 characters, and this one has 257/],
    [{ resource: '_default_', limits: fine }, /is no name of a resource/],
    [{ resource: 'a b', limits: fine }, /is no name of a resource/],
    [{ resource: 'r'.repeat(65), limits: fine }, /at most 64/],
    [{ limits: [] }, /There are no limits/],
    [{ limits: [perMinute('a#b', 1)] }, /limit name "a#b" is not/],
    [{ limits: [perMinute('a', 0)] }, /capacity of the limit "a" is 0, not a whole number above 0/],
    [{ limits: [perMinute('a', 1.5)] }, /whole number/],
    [{ limits: [perMinute('a', 2 ** 53)] }, /whole number/],
    [{ limits: [{ ...perMinute('a', 2 ** 50), refillAmount: 7 }] }, /cannot be counted exactly/],
    [{ limits: [perMinute('a', 1), perMinute('a', 2)] }, /Two limits have the name "a"/],
    [{ limits: Array.from({ length: 17 }, (_, i) => perMinute(`l${i}`, 1)) }, /one row holds at most 16/],
    [{ entity: 'a', parent: 'a' }, /not its own parent/],
    [{ entity: 'a', parent: 'b#c' }, /no name of an entity/],
    [{ resource: 'main', parent: 'b' }, /belongs to an entity/],
    [{ entity: 'a' }, /one of limits or of a parent/],
  ] as const) {
    const outcome = await registry.change(edit, ann)
    assert.ok(!outcome.ok && outcome.reason === 'invalid', JSON.stringify(edit))
    assert.match(outcome.sentence, sentence)
  }
  const odd = await registry.change({ limits: fine }, { by: 'x\u001b[31m' })
  assert.ok(!odd.ok && /control characters/.test(odd.sentence))
  assert.deepEqual(await cells.list('LIMITS', 1), [])
})

test('names of object members are names like others', async () => {
  const { registry } = rig()
  for (const resource of ['constructor', 'toString', 'hasOwnProperty']) {
    assert.equal(await found(registry, 'constructor', resource), undefined)
    await registry.change({ entity: 'constructor', resource, limits: [perMinute('valueOf', 3)] }, ann)
    assert.equal(await found(registry, 'constructor', resource), 'entity 3')
  }
})

test('an entity of a request that is no valid name has the limits of the resource, and is not remembered', async () => {
  const { registry } = rig({ system: [perMinute('requests', 1)] })
  for (const entity of ['x#y', 'x'.repeat(100_000), '', '\u0000']) {
    assert.equal(await found(registry, entity), 'system 1')
  }
})

test('a parent comes with the limits, whatever level they are of', async () => {
  const { registry } = rig({ system: [perMinute('requests', 1)] })
  await registry.change({ entity: 'team-a', parent: 'company' }, ann)
  assert.deepEqual(await registry.resolve('team-a', 'main'), {
    ...{ source: 'system', parent: 'company' },
    limits: [perMinute('requests', 1)],
  })
  const third = await registry.change({ entity: 'ann', parent: 'team-a' }, ann)
  assert.ok(!third.ok && /team-a has a parent itself/.test(third.sentence))
  await registry.change({ entity: 'team-a', parent: null }, ann)
  assert.equal((await registry.resolve('team-a', 'main'))!.parent, undefined)
})

test('every change is audited with the previous value, and a change without effect is not', async () => {
  const { clock, registry } = rig()
  const [one, two] = [[perMinute('requests', 1)], [perMinute('requests', 2)]]
  await registry.change({ entity: 'a', limits: one }, ann)
  await clock.advance(1000)
  await registry.change({ entity: 'a', limits: two }, { by: 'bob', from: '10.0.0.1' })
  await registry.change({ entity: 'a', limits: two }, { by: 'nobody' })
  await clock.advance(86_400_000)
  await registry.change({ entity: 'a', parent: 'p' }, ann)
  await registry.change({ entity: 'a', limits: null }, ann)
  await registry.change({ entity: 'b', resource: 'main', limits: null }, ann)
  const all = await registry.audit.list({ limit: 100 })
  assert.deepEqual(
    all.map(({ action, version, author, before, after }) => [action, version, author.by, before, after]),
    [
      ['limits_deleted', 4, 'ann', two, undefined],
      ['parent_set', 3, 'ann', undefined, 'p'],
      ['limits_set', 2, 'bob', one, two],
      ['limits_set', 1, 'ann', undefined, one],
    ],
  )
  assert.equal(all[2]!.author.from, '10.0.0.1')
  assert.deepEqual((await registry.audit.list({ limit: 1 })).length, 1)
  assert.deepEqual(await registry.audit.list({ limit: 10, entity: 'b' }), [])
  await clock.advance(89 * 86_400_000)
  assert.equal((await registry.audit.list({ limit: 100 })).length, 2)
  await clock.advance(86_400_000)
  assert.deepEqual(await registry.audit.list({ limit: 100 }), [])
})

test('thousands of entities are listed in order and resolved from a bounded cache', async () => {
  const { registry } = rig()
  for (let i = 0; i < 5000; i++) {
    await registry.change({ entity: `team-${i}`, limits: [perMinute('requests', i + 1)] }, ann)
  }
  await registry.change({ limits: [perMinute('requests', 9)] }, ann)
  const rows = await registry.list()
  assert.deepEqual([rows.length, rows[0]!.entity, rows[1]!.entity], [5001, undefined, 'team-0'])
  assert.equal(await found(registry, 'team-4321'), 'entity_default 4322')
})

test('an entity with more limits than a row can hold is refused, and nothing is lost', async () => {
  const clock = fakeClock()
  const registry = new LimitRegistry(memoryCells({ clock, maxValueBytes: 2000 }), { clock })
  const set = (i: number) =>
    registry.change({ entity: 'a', resource: `resource-${i}`, limits: [perMinute('requests', 1)] }, ann)
  let accepted = 0
  for (let outcome = await set(0); outcome.ok; outcome = await set(++accepted)) assert.ok(accepted < 100)
  const refused = await set(accepted)
  assert.ok(!refused.ok && refused.reason === 'too_large')
  assert.equal((await registry.list())[0]!.sets.size, accepted)
  assert.equal((await registry.audit.list({ limit: 1000 })).length, accepted)
})

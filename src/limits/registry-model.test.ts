import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sharedStore } from '../../test/rigs/engine-rig.ts'
import { asynchronous } from '../testing/asynchronous.ts'
import { type FakeClock, fakeClock } from '../testing/fake-clock.ts'
import { seededRandom } from '../testing/random.ts'
import type { Limit, ResolvedLimits } from './limit.ts'
import { LimitRegistry } from './registry.ts'
import type { LimitTarget } from './registry-rows.ts'

const entities = ['team-a', 'team-b', 'constructor']
const resources = ['main', 'toString']

const target: fc.Arbitrary<LimitTarget> = fc.record(
  { entity: fc.constantFrom(...entities), resource: fc.constantFrom(...resources) },
  { requiredKeys: [] },
)

const limits = fc
  .nat(1000)
  .map((rate): Limit[] => [
    { name: 'requests', capacity: rate + 1, refillAmount: rate + 1, refillPeriodSeconds: 60 },
  ])

interface Step {
  readonly target: LimitTarget
  readonly limits: Limit[] | null
  readonly waitMs: number
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({ target, limits: fc.option(limits), waitMs: fc.nat(90_000) }),
  { maxLength: 25 },
)

/** The limits by the text of the target: as simple as it can be. */
type Model = Map<string, readonly Limit[]>

const nameOf = ({ entity = '', resource = '' }: LimitTarget): string => `${entity}|${resource}`

function resolveIn(model: Model, entity: string, resource: string): ResolvedLimits | undefined {
  for (const [source, at] of [
    ['entity', { entity, resource }],
    ['entity_default', { entity }],
    ['resource', { resource }],
    ['system', {}],
  ] as const) {
    const found = model.get(nameOf(at))
    if (found !== undefined) return { source, limits: found }
  }
  return undefined
}

const apply = (model: Model, { target: at, limits: wanted }: Step): void =>
  void (wanted === null ? model.delete(nameOf(at)) : model.set(nameOf(at), wanted))

async function assertResolves(registry: LimitRegistry, model: Model): Promise<void> {
  for (const entity of entities) {
    for (const resource of resources) {
      assert.deepEqual(await registry.resolve(entity, resource), resolveIn(model, entity, resource))
    }
  }
}

function farCells(clock: FakeClock, failures: () => number) {
  const store = sharedStore(clock)
  return asynchronous(store, { clock, failures, random: seededRandom(7) }).cells!
}

test('the resolved limits equal those of a simple model, here at once and elsewhere after the TTL', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const clock = fakeClock()
      const cells = farCells(clock, () => 0)
      const [here, there] = [new LimitRegistry(cells, { clock }), new LimitRegistry(cells, { clock })]
      const model: Model = new Map()
      for (const step of all) {
        const outcome = await here.change({ ...step.target, limits: step.limits }, { by: 'model' })
        assert.ok(outcome.ok)
        apply(model, step)
        await assertResolves(here, model)
        await clock.advance(step.waitMs)
      }
      await clock.advance(60_000)
      await assertResolves(there, model)
    }),
    { numRuns: 40 },
  )
})

test('on a store that fails, a change that is acknowledged holds, and every change that happened was audited', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.integer({ min: 1, max: 5 }), async (all, tenths) => {
      const clock = fakeClock()
      let share = tenths / 10
      const cells = farCells(clock, () => share)
      const registry = new LimitRegistry(cells, { clock })
      const model: Model = new Map()
      for (const step of all) {
        const outcome = await registry.change({ ...step.target, limits: step.limits }, { by: 'model' })
        if (outcome.ok) apply(model, step)
        else {
          assert.equal(outcome.reason, 'unavailable')
          // It may have been made or not: the store decides.
          share = 0
          const row = (await registry.list()).find(
            ({ entity, resource }) =>
              entity === step.target.entity && (entity !== undefined || resource === step.target.resource),
          )
          const name = step.target.entity === undefined ? '_default_' : (step.target.resource ?? '_default_')
          const stored = row?.sets.get(name)?.limits
          if (stored === undefined) model.delete(nameOf(step.target))
          else model.set(nameOf(step.target), stored)
          share = tenths / 10
        }
      }
      share = 0
      await clock.advance(600_000)
      await assertResolves(registry, model)
      const audited = await registry.audit.list({ limit: 10_000 })
      for (const row of await registry.list()) {
        const versions = audited.filter(
          ({ entity, resource }) =>
            entity === row.entity && (entity !== undefined || resource === row.resource),
        )
        assert.ok(versions.some(({ version }) => version === row.version))
      }
    }),
    { numRuns: 60 },
  )
})

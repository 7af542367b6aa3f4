/** Limiters for tests, over cells in this process and over cells behind a network. */
import assert from 'node:assert/strict'
import type { Limit, Limiter, Permit, Refusal, ResolvedLimits } from '../../src/limits/limit.ts'
import { type LimiterOptions, limiter } from '../../src/limits/limiter.ts'
import type { Cells } from '../../src/stores/cells.ts'
import { memoryCells } from '../../src/stores/memory/cells.ts'
import { asynchronousCells, Network } from '../../src/testing/asynchronous.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { failingCells } from './failing-cells.ts'

export interface LimiterRig {
  readonly clock: FakeClock
  readonly cells: Cells
  /** Limits by entity; changes are seen at once. Others have none. */
  readonly entities: Map<string, ResolvedLimits>
  readonly state: { isDown: boolean }
  limiter(options?: LimiterOptions): Limiter
}

export const networks = ['in this process', 'behind a network'] as const

export function limiterRig(network: (typeof networks)[number] = 'in this process', seed = 1): LimiterRig {
  const clock = fakeClock()
  const state = { isDown: false }
  const entities = new Map<string, ResolvedLimits>()
  const memory = memoryCells({ clock })
  const isFar = network === 'behind a network'
  const isCut = () => state.isDown
  const options = { clock, random: seededRandom(seed), isCut }
  const cells = isFar ? asynchronousCells(memory, new Network(options)) : failingCells(memory, isCut)
  const resolver = { resolve: (entity: string) => entities.get(entity) }
  return {
    ...{ clock, cells, entities, state },
    limiter: (given = {}) => limiter(cells, { clock, resolver, ...given }),
  }
}

export const perMinute = (name: string, rate: number, burst = rate): Limit => ({
  ...{ name, capacity: burst, refillAmount: rate, refillPeriodSeconds: 60 },
})

export function mustPermit(outcome: Permit | Refusal): Permit {
  assert.ok(outcome.ok, `refused: ${outcome.ok ? '' : outcome.cause}`)
  return outcome
}

export function mustRefuse(outcome: Permit | Refusal): Refusal {
  assert.ok(!outcome.ok, 'it was admitted')
  return outcome
}

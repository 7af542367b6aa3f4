import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getRange } from '../../test/rigs/range-requests.ts'
import type { Backend, Plan } from '../backends/backend.ts'
import { checkOver } from './backend-runs.ts'
import { cellBackend } from './cell-backend.ts'

const right = cellBackend({ several: true }) as Backend
const query = right.parse({ ...getRange('q=up&ranges=130-500,780-900&step=100'), path: '/rows' })
const plan = right.plan(query, 0) as Plan

test('a plan over other instants has edges of another name', () => checkOver(right, plan, 0))

const wrong: Record<string, Backend['over']> = {
  'takes the instants for those of the request': (own) => own,
  'is not eligible over its own instants': () => ({ bypass: 'invalid_parameter' }),
  'is of another question': (own, asked) => ({ ...(right.over!(own, asked, 0) as Plan), shape: 'other' }),
  'has no name for its edges': (own, asked) => {
    const other = right.over!(own, asked, 0) as Plan
    return { ...other, edges: { ...other.edges!, parts: plan.edges!.parts } }
  },
}

for (const [what, over] of Object.entries(wrong)) {
  test(`a backend is refused whose plan ${what}`, () =>
    assert.throws(() => checkOver({ ...right, over: over! }, plan, 0), assert.AssertionError))
}

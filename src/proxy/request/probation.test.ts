import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Probation } from './probation.ts'
import { ModeSwitch, type Settings } from './settings.ts'

const quiet = { equal() {}, mismatch() {}, skip() {} }
const mismatch = (isExplained: boolean) => ({ isExplained }) as Parameters<Probation['mismatch']>[1]

test('only answers that would have come from the cache count, and a difference without a cause starts anew', () => {
  const probation = new Probation({ label: 'Druid', comparisons: 3 }, quiet)
  const tell = (...wouldBe: ('hit' | 'partial' | 'miss')[]) => {
    for (const each of wouldBe) probation.equal('main', each)
  }
  tell('hit', 'miss', 'miss', 'miss', 'partial')
  assert.match(probation.reason!, /^the server is assumed to be Druid: 2 of 3 /)
  probation.mismatch('hit', mismatch(true))
  assert.match(probation.reason!, / 2 of 3 /)
  probation.mismatch('hit', mismatch(false))
  assert.match(probation.reason!, / 0 of 3 /)
  tell('hit', 'hit', 'partial')
  assert.equal(probation.reason, undefined)
})

test('a mode that is held back is shadow at most, by rules and by a switch too, and says why', () => {
  const terms = { mode: 'on' } as Settings['terms']
  const rule = { name: 'r', terms: { mode: 'on' as const }, isMatch: () => true }
  const settings: Settings = { terms, rules: [rule] }
  let why: string | undefined = 'not yet'
  const modes = new ModeSwitch(() => settings, { heldBack: () => why })
  assert.deepEqual(modes.state, {
    mode: 'shadow',
    configured: 'on',
    isOverridden: false,
    heldBack: 'not yet',
  })
  assert.equal(modes.settings.override, 'shadow')
  assert.equal(modes.settings, modes.settings)
  modes.set('off')
  assert.equal(modes.state.mode, 'off')
  modes.set('on')
  assert.equal(modes.state.mode, 'shadow')
  why = undefined
  assert.deepEqual(modes.state, { mode: 'on', configured: 'on', isOverridden: true })
})

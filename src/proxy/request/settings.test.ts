import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ladder } from '../../ttl/ladder.ts'
import { type Mode, ModeSwitch, modes, policiesOf, type Settings, termsFor } from './settings.ts'

const subject = { path: '/', headers: [], query: 'up' }

const settingsOf = (mode: Mode, rule?: Mode): Settings => ({
  terms: { mode, identity: 'separate', policy: ladder(), maxStaleMs: 0 },
  rules: rule === undefined ? [] : [{ name: 'rules.0', terms: { mode: rule }, isMatch: () => true }],
})

test('a mode that is set holds until the configuration is replaced', () => {
  let configured = settingsOf('on')
  const changes: Mode[] = []
  const modeSwitch = new ModeSwitch(() => configured, { onChange: (mode) => changes.push(mode) })
  assert.equal(modeSwitch.settings, configured)
  assert.equal(modeSwitch.set('shadow'), 'on')
  assert.deepEqual(modeSwitch.state, { mode: 'shadow', configured: 'on', isOverridden: true })
  assert.equal(termsFor(modeSwitch.settings, subject).mode, 'shadow')
  assert.equal(modeSwitch.settings, modeSwitch.settings)
  assert.equal(modeSwitch.set('off'), 'shadow')
  configured = settingsOf('on')
  assert.deepEqual(modeSwitch.state, { mode: 'on', configured: 'on', isOverridden: false })
  configured = settingsOf('on')
  assert.equal(modeSwitch.settings, configured)
  assert.deepEqual(changes, ['shadow', 'off', 'on'])
})

test('a rule may be more careful than the mode that was set, never less', () => {
  for (const rule of modes) {
    for (const set of modes) {
      const modeSwitch = new ModeSwitch(() => settingsOf('on', rule))
      const settings = settingsOf('on', rule)
      const fixed = new ModeSwitch(() => settings)
      fixed.set(set)
      const expected = modes[Math.min(modes.indexOf(rule), modes.indexOf(set))]
      assert.equal(termsFor(fixed.settings, subject).mode, expected, `${rule} ${set}`)
      assert.equal(termsFor(modeSwitch.settings, subject).mode, rule)
    }
  }
})

test('the policy of the backend comes first, then those of the rules that set one', () => {
  const [own, ofRule] = [ladder(), ladder()]
  const { terms } = settingsOf('on')
  const settings: Settings = {
    terms: { ...terms, policy: own },
    rules: [
      { name: 'rules.0', terms: { mode: 'off' }, isMatch: () => true },
      { name: 'rules.1', terms: { policy: ofRule }, isMatch: () => true },
    ],
  }
  const policies = policiesOf(settings)
  assert.deepEqual(
    policies.map(({ rule }) => rule),
    [undefined, 'rules.1'],
  )
  assert.equal(policies[0]!.policy, own)
  assert.equal(policies[1]!.policy, ofRule)
})

/** Every form is what it says it is: the suite would prove little with questions that are wrong or empty by accident. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireServer } from '../../data/fixture.ts'
import { startDruidFixture } from '../fixture.ts'
import { faultsOf } from './marks.ts'
import { nativeForms } from './queries.ts'

test('the forms are many, distinct and mostly eligible', () => {
  const names = nativeForms.map((form) => form.name)
  assert.deepEqual(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
  )
  assert.ok(nativeForms.length >= 200, `${nativeForms.length} native forms`)
  assert.ok(nativeForms.filter((form) => form.eligible).length / nativeForms.length > 0.8)
})

test('every form succeeds, fails or is empty as marked', async (t) => {
  const druid = requireServer(t, await startDruidFixture())
  if (druid === null) return
  t.after(() => druid.stop())
  t.diagnostic(`${nativeForms.length} native forms`)
  assert.deepEqual(await faultsOf(nativeForms, druid.brokerUrl), [])
})

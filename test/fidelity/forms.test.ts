/** Every form is what it says it is: the suite would prove little with queries that are wrong or empty by accident. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogue } from '../data/dataset.ts'
import { type Answer, ApiClient, isEmptyResult } from './client.ts'
import type { Form, Param } from './form.ts'
import { forms } from './queries.ts'
import { span, startDatabase } from './setup.ts'
import { fixedWindow } from './walks.ts'

/** The whole of the data in steps of five minutes: the lookback delta, so nothing is overlooked. */
function standardParams(form: Form): readonly Param[] {
  const { stepMs, points } = form.range ?? { stepMs: 300_000, points: 289 }
  const window = fixedWindow(span, stepMs, points)
  const params: Param[] = [
    ['query', form.query],
    ['start', String(window.start / 1000)],
    ['end', String(window.end / 1000)],
    ['step', String(window.step / 1000)],
    ...(form.extra ?? []),
  ]
  return form.edit?.(params) ?? params
}

function faultOf(form: Form, answer: Answer): string | undefined {
  const got = `got ${answer.status} ${answer.body.toString('utf8', 0, 200)}`
  if (form.error === true) return answer.status === 200 ? `must fail: ${got}` : undefined
  if (!form.eligible && form.bypass === undefined) return undefined
  if (answer.status !== 200) return `must succeed: ${got}`
  const wanted = form.empty === true
  return isEmptyResult(answer) === wanted ? undefined : `must ${wanted ? '' : 'not '}be empty: ${got}`
}

test('the forms are many, distinct and mostly eligible', () => {
  const keys = forms.map((form) => JSON.stringify(standardParams(form)))
  const repeated = keys.filter((key, index) => keys.indexOf(key) !== index)
  assert.deepEqual(repeated, [])
  assert.ok(forms.length >= 400, `${forms.length} forms`)
  assert.ok(forms.filter((form) => form.eligible).length / forms.length >= 0.8)
})

test('the forms ask for every metric of the data', () => {
  const asked = forms.map((form) => form.query.replaceAll('\\"', '"')).join('\n')
  assert.deepEqual(
    catalogue.map((entry) => entry.name).filter((name) => !asked.includes(name)),
    [],
  )
})

test('every form succeeds, fails or is empty as marked', async (t) => {
  const prometheus = await startDatabase(t)
  if (prometheus === null) return
  const client = new ApiClient(prometheus.url)
  t.after(() => client.close())
  const answers = await Promise.all(
    forms.map((form) => client.queryRange({ method: 'POST', search: [], form: standardParams(form) })),
  )
  const faults = forms.flatMap((form, index) => {
    const fault = faultOf(form, answers[index]!)
    return fault === undefined ? [] : [`${form.query}: ${fault}`]
  })
  assert.deepEqual(faults, [])
  const nonEmpty = answers.filter((answer) => !isEmptyResult(answer)).length
  t.diagnostic(`${nonEmpty} of ${forms.length} forms have a non-empty answer`)
  assert.ok(nonEmpty / forms.length >= 0.8, `${nonEmpty} of ${forms.length}`)
})

/** Whether forms fit their marks: queries that are wrong or empty by accident would prove little. */
import { type Answer, type ApiClient, isEmptyResult } from './client.ts'
import type { Form, Param } from './form.ts'
import { span } from './setup.ts'
import { fixedWindow } from './walks.ts'

export interface Marks {
  /** The forms that do not succeed, fail or come back empty as they are marked, and their actual results. */
  readonly faults: readonly string[]
  readonly nonEmpty: number
}

export async function judgeMarks(forms: readonly Form[], database: ApiClient): Promise<Marks> {
  const answers = await Promise.all(
    forms.map((form) => database.queryRange({ method: 'POST', search: [], form: standardParams(form) })),
  )
  const faults = forms.flatMap((form, index) => {
    const fault = faultOf(form, answers[index]!)
    return fault === undefined ? [] : [`${form.query}: ${fault}`]
  })
  return { faults, nonEmpty: answers.filter((answer) => !isEmptyResult(answer)).length }
}

/** The whole of the data in steps of five minutes: the lookback delta, so nothing is overlooked. */
export function standardParams(form: Form): readonly Param[] {
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

/** Whether forms fit their marks: queries that are wrong or empty by accident would prove little. */

import { bucketAt, startOf } from '../../../src/core/grid.ts'
import { type Answer, ApiClient } from '../../fidelity/client.ts'
import { seededRandom } from '../../fidelity/random.ts'
import type { Form } from './form.ts'
import { isEmptyAnswer } from './run.ts'
import { bucketGrid, dataSpans } from './spans.ts'

/** Returns the forms that do not succeed, fail or come back empty as they are marked, and their actual results. */
export async function faultsOf(forms: readonly Form[], url: string): Promise<readonly string[]> {
  const database = new ApiClient(url, 4)
  try {
    const faults: string[] = []
    for (const form of forms) {
      const { path, body } = standardAsk(form)
      const fault = faultOf(form, await database.post(path, body, { 'content-type': 'application/json' }))
      if (fault !== undefined) faults.push(`${form.name}: ${fault}`)
    }
    return faults
  } finally {
    await database.close()
  }
}

/** A few buckets from where data is. */
function standardAsk(form: Form) {
  const [span] = dataSpans[form.dataSet]
  const grid = bucketGrid(form)
  const first = bucketAt(grid, span!.from + 8 * 3_600_000)
  const spans = [{ from: startOf(grid, first), to: startOf(grid, first + 40) }]
  return form.ask(spans, seededRandom(1))
}

function faultOf(form: Form, answer: Answer): string | undefined {
  const got = `got ${answer.status} ${answer.body.toString('utf8', 0, 300)}`
  if (form.error === true) return answer.status === 200 ? `must fail: ${got}` : undefined
  if (!form.eligible && form.bypass === undefined) return undefined
  if (answer.status !== 200) return `must succeed: ${got}`
  const wanted = form.empty === true
  return isEmptyAnswer(answer) === wanted ? undefined : `must ${wanted ? '' : 'not '}be empty: ${got}`
}

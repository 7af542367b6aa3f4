/** Sends captured forms to Druid directly and through Windowpane, and returns the results. */
import { type Answer, ApiClient, outcomeOf } from '../../fidelity/client.ts'
import { compareAnswers } from '../differential/compare.ts'
import { startUnderTest } from '../differential/under-test.ts'
import { bodyAt, type ClientForm, isTimeSeries } from './forms.ts'

/** How far the window of a form moves, as that of a dashboard does that is left open for a day. */
const LATER_HOURS = 24

export interface Replayed {
  readonly form: ClientForm
  readonly isTimeSeries: boolean
  /** The outcome of the repeated request, and of one for a later window. */
  readonly again: string
  readonly later: string
  /** Where an answer differs from Druid's own. */
  readonly differences: readonly string[]
}

/** Each form in turn, through a proxy that knows nothing at first. */
export async function replay(druidUrl: string, forms: readonly ClientForm[]): Promise<readonly Replayed[]> {
  const proxy = await startUnderTest(druidUrl)
  const [direct, through] = [new ApiClient(druidUrl), new ApiClient(proxy.url)]
  try {
    const replayed: Replayed[] = []
    for (const form of forms) replayed.push(await replayForm(form, direct, through))
    return replayed
  } finally {
    await Promise.all([direct.close(), through.close()])
    await proxy.close()
  }
}

async function replayForm(form: ClientForm, direct: ApiClient, through: ApiClient): Promise<Replayed> {
  const differences: string[] = []
  // The data does not change: Druid is queried once for each window.
  const known = new Map<number, Answer>()
  const view = async (hoursLater: number): Promise<string> => {
    const body = bodyAt(form, hoursLater)
    const own = known.get(hoursLater) ?? (await send(direct, form.path, body))
    known.set(hoursLater, own)
    const seen = await send(through, form.path, body)
    const verdict = own.status === 200 ? compareAnswers(own, seen) : { what: 'status', direct: own.status }
    if (verdict !== 'equal') differences.push(`${form.name}: ${JSON.stringify(verdict)}: ${body}`)
    return nameOf(seen)
  }
  await view(0)
  const again = await view(0)
  const later = await view(LATER_HOURS)
  return { form, isTimeSeries: isTimeSeries({ ...form, body: bodyAt(form) }), again, later, differences }
}

const send = (client: ApiClient, path: string, body: string): Promise<Answer> =>
  client.post(path, body, { 'content-type': 'application/json' })

/** Outcome and reason as in `Cache-Status`. */
export function nameOf(answer: Answer): string {
  const { outcome, reason } = outcomeOf(answer)
  return reason === '' ? outcome : `${outcome}/${reason}`
}

/** Planned in buckets, also where only parts of them were requested. */
export const isEligible = (outcome: string): boolean => /^(?:hit|partial|miss)\b/.test(outcome)

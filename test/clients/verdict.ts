/** The results of a client's queries: the same answers, and their sources. */
import { type ClientForm, type ClientName, isTimeSeries, withPlaceholders } from '../druid/clients/forms.ts'
import { isEligible, nameOf } from '../druid/clients/replay.ts'
import { compareAnswers } from '../druid/differential/compare.ts'
import { type Exchange, introduction } from './client.ts'

/** All exchanges of a client: with Druid itself, and twice with Windowpane. */
interface Heard {
  readonly own: readonly Exchange[]
  readonly first: readonly Exchange[]
  readonly again: readonly Exchange[]
}

/** Of the queries in time buckets, at least so many are eligible; of those, so many are hits when they are repeated. */
const least: Partial<Record<ClientName, { readonly eligible: number; readonly hits: number }>> = {
  superset: { eligible: 0.8, hits: 1 },
  turnilo: { eligible: 0.65, hits: 1 },
  pydruid: { eligible: 0.95, hits: 1 },
}

export class Verdict {
  readonly differences: readonly string[]
  readonly forms: readonly ClientForm[]
  readonly #client: ClientName

  constructor(client: ClientName, heard: Heard) {
    this.#client = client
    this.differences = [...differencesOf(heard.own, heard.first), ...differencesOf(heard.own, heard.again)]
    this.forms = formsOf(heard.again)
  }

  table(): string {
    const { asked, eligible, hits } = this.#share()
    const rows = this.forms.map((form) => {
      const mark = isTimeSeries(form) ? 'time' : ''
      return `  ${form.again.padEnd(26)} ${mark.padEnd(5)} ${form.name}`
    })
    const share = `${asked} queries in time buckets, ${eligible} eligible, ${hits} hits when asked again`
    return [`${this.#client}: ${this.forms.length} queries, ${share}`, ...rows].join('\n')
  }

  /** The problems, also with the kept requests of the client. */
  problems(kept: readonly ClientForm[]): readonly string[] {
    const { asked, eligible, hits } = this.#share()
    const problems = [...this.differences]
    const { eligible: leastEligible = 0, hits: leastHits = 0 } = least[this.#client] ?? {}
    if (eligible < leastEligible * asked) problems.push(`only ${eligible} of ${asked} are eligible`)
    if (hits < leastHits * eligible) problems.push(`only ${hits} of ${eligible} are hits when asked again`)
    const [now, then] = [this.forms, kept].map((forms) => new Set(forms.map(({ body }) => body)))
    const others = [...now!.symmetricDifference(then!)]
    if (others.length > 0) problems.push(`${others.length} queries are not those that are kept: -- --write`)
    return problems
  }

  #share(): { asked: number; eligible: number; hits: number } {
    const asked = this.forms.filter(isTimeSeries)
    const eligible = asked.filter(({ again }) => isEligible(again))
    const hits = eligible.filter(({ again }) => again === 'hit')
    return { asked: asked.length, eligible: eligible.length, hits: hits.length }
  }
}

/** Each request once, with how it was answered. */
function formsOf(exchanges: readonly Exchange[]): readonly ClientForm[] {
  const forms = new Map<string, ClientForm>()
  for (const { view, path, body, answer } of exchanges) {
    if (view === introduction || forms.has(body)) continue
    forms.set(body, { name: view, again: nameOf(answer), path, body: withPlaceholders(body) })
  }
  return [...forms.values()]
}

/** A client sends the same requests again in the same order, or its answers were not the same. */
function differencesOf(own: readonly Exchange[], seen: readonly Exchange[]): readonly string[] {
  const differences: string[] = []
  const rest = seen.filter(({ view }) => view !== introduction)
  for (const exchange of own) {
    if (exchange.view === introduction) continue
    const at = rest.findIndex(({ path, body }) => path === exchange.path && body === exchange.body)
    const [other] = at < 0 ? [] : rest.splice(at, 1)
    const place = `${exchange.view}: ${exchange.body}`
    if (other === undefined) differences.push(`not asked through Windowpane: ${place}`)
    else if (compareAnswers(exchange.answer, other.answer) !== 'equal')
      differences.push(`another answer: ${place}`)
  }
  for (const { view, body } of rest) differences.push(`only asked through Windowpane: ${view}: ${body}`)
  return differences
}

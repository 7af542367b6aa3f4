/** Draws a picture as lines of text. Pure: the result follows from the picture, the place and the size. */
import { usualAdminAddress } from '../config/checks.ts'
import type { Outcome } from '../core/decision.ts'
import { type Colour, painted, shorten } from '../core/text.ts'
import { bar, clock, compact, duration, intervalBar, percent } from './format.ts'
import { isWarm } from './report.ts'
import type { Picture, RecentRequest, Shares } from './tally.ts'

export interface DemoSetup {
  readonly proxyUrl: string
  readonly adminUrl: string
  readonly dashboards: number
}

export interface Screen {
  readonly columns: number
  readonly rows: number
  readonly hasColor: boolean
}

const colourOf: Readonly<Record<Outcome, Colour>> = {
  hit: 'green',
  partial: 'cyan',
  miss: 'yellow',
  stale: 'violet',
  bypass: 'dim',
  refused: 'red',
  error: 'red',
}

const meanings: Readonly<Record<Outcome, string>> = {
  hit: 'all from cache',
  partial: 'tail fetched',
  miss: 'all fetched',
  stale: 'served expired',
  bypass: 'not cacheable',
  refused: 'over a limit',
  error: 'failed',
}

const narrowest = 60
const widest = 140
/** A frame with blank lines and requests needs so many rows. */
const roomyRows = 22

export function drawFrame(picture: Picture, setup: DemoSetup, screen: Screen): string[] {
  const width = Math.min(widest, Math.max(narrowest, screen.columns)) - 2
  const draw = new Drawing(picture, { ...setup, width, hasColor: screen.hasColor })
  const isRoomy = screen.rows >= roomyRows
  const blank = isRoomy ? [''] : []
  const upper = [
    draw.title(),
    ...blank,
    ...draw.shares(),
    ...(isRoomy ? [draw.load()] : []),
    ...blank,
    ...draw.latencies(),
    ...blank,
    draw.staleness(),
  ]
  const lower = [...blank, ...draw.addresses()]
  const room = screen.rows - upper.length - lower.length - blank.length - 1
  const requests = room > 0 ? [...blank, draw.legend(), ...draw.requests(room)] : []
  return [...upper, ...requests, ...lower].slice(0, screen.rows).map((line) => ` ${line}`.trimEnd())
}

interface DrawingOptions extends DemoSetup {
  readonly width: number
  readonly hasColor: boolean
}

class Drawing {
  readonly #picture: Picture
  readonly #given: DrawingOptions

  constructor(picture: Picture, given: DrawingOptions) {
    this.#picture = picture
    this.#given = given
  }

  title(): string {
    const { elapsedMs, queries, queriesPerSecond } = this.#picture
    const left = 'windowpane demo'
    const counts = `${compact(queries)} queries · ${queriesPerSecond.toFixed(1)}/s`
    const right = `${this.#given.dashboards} dashboards · ${counts} · ${clock(elapsedMs)}`
    const gap = ' '.repeat(Math.max(1, this.#given.width - left.length - right.length))
    return this.#ink('bold', left) + gap + this.#ink('dim', right)
  }

  shares(): string[] {
    const { total, lastMinute } = this.#picture
    const barWidth = this.#given.width - labelWidth - 2 * 12
    const row = (name: string, key: keyof Shares): string => {
      const drawn = this.#ink('green', bar(lastMinute[key], barWidth))
      const now = this.#ink('bold', percent(lastMinute[key]).padStart(12))
      return `${name.padEnd(labelWidth)}${drawn}${now}${percent(total[key]).padStart(12)}`
    }
    const header = `${' '.repeat(labelWidth + barWidth)}${'last minute'.padStart(12)}${'since start'.padStart(12)}`
    if (!isWarm(this.#picture)) return [this.#ink('yellow', 'warming up'), ...warmingLines]
    return [
      this.#ink('dim', header),
      row('queries with a hit', 'anyHit'),
      row('data from cache', 'fromCache'),
      row('database load saved', 'loadAvoided'),
    ]
  }

  load(): string {
    const { asked, withoutCache } = this.#picture.bucketSeconds
    if (!isWarm(this.#picture)) return ''
    const [spent, saved] = [duration(1000 * asked), duration(1000 * withoutCache)]
    const text = `${spent} of data queried instead of ${saved}: ${(withoutCache / asked).toFixed(1)}× less`
    return `${' '.repeat(labelWidth)}${this.#ink('dim', text)}`
  }

  latencies(): string[] {
    const cell = this.#given.width < 78 ? 7 : 11
    const line = (name: string, cells: readonly string[], meaning: string): string =>
      `${name.padEnd(labelWidth)}${cells.map((text) => text.padStart(cell)).join('')}  ${meaning}`.trimEnd()
    const rows = this.#picture.outcomes.map(({ outcome, count, p50Ms, p99Ms }) => {
      const cells = [compact(count), duration(p50Ms), duration(p99Ms)]
      return this.#ink(colourOf[outcome], line(outcome, cells, meanings[outcome]))
    })
    const { direct } = this.#picture
    const cells = ['', duration(direct.p50Ms), duration(direct.p99Ms)]
    const without = direct.p50Ms > 0 ? [this.#ink('dim', line('database alone', cells, 'no cache'))] : []
    return [this.#ink('dim', line('first byte', ['queries', 'p50', 'p99'], '')), ...rows, ...without]
  }

  /** Points that the database would have returned with another value, and since when. */
  staleness(): string {
    const { points, outdated, p99Ms, violations } = this.#picture.staleness
    const verdict =
      violations === 0
        ? this.#ink('green', 'none past TTL')
        : this.#ink('red', `${compact(violations)} PAST TTL`)
    if (points === 0) return `${'stale points'.padEnd(labelWidth)}${this.#ink('dim', 'not compared yet')}`
    const age = outdated === 0 ? '' : `, p99 ${duration(p99Ms)} old`
    return `${'stale points'.padEnd(labelWidth)}${this.#ink('bold', percent(outdated / points))}${age}; ${verdict}`
  }

  legend(): string {
    return this.#ink('dim', `${'recent requests'.padEnd(labelWidth)}█ cached  ░ fetched  ▒ shared a fetch`)
  }

  requests(room: number): string[] {
    const shown = this.#picture.recent.slice(0, room).map((request) => this.#request(request))
    return [...shown, ...Array<string>(room - shown.length).fill('')]
  }

  #request({ outcome, question, fetched, tookMs }: RecentRequest): string {
    const { width } = this.#given
    const barWidth = Math.max(20, Math.floor(width * 0.35))
    const drawn = intervalBar({ window: question, fetched, isCached: outcome === 'hit' }, barWidth)
    const span = duration(question.end - question.start)
    const facts = `${duration(tookMs).padStart(8)}${span.padStart(6)}  `
    const query = shorten(question.query, width - 9 - barWidth - facts.length)
    return `${this.#ink(colourOf[outcome], outcome.padEnd(9) + drawn)}${facts}${this.#ink('dim', query)}`
  }

  addresses(): string[] {
    const { proxyUrl, adminUrl } = this.#given
    return [
      this.#hint('Grafana: use ', proxyUrl, ' as a Prometheus URL · Ctrl-C ends'),
      this.#hint('Look inside: ', `windowpane top${adminFlag(adminUrl)}`, ' (or tail, status, explain)'),
    ]
  }

  /** The rest is left out where it does not fit. */
  #hint(lead: string, what: string, rest: string): string {
    const fits = lead.length + what.length + rest.length <= this.#given.width
    return `${lead}${this.#ink('bold', what)}${fits ? this.#ink('dim', rest) : ''}`
  }

  #ink(colour: Colour, text: string): string {
    return this.#given.hasColor ? painted(text, colour) : text
  }
}

const labelWidth = 21

/** As many lines as the shares take. */
const warmingLines = [
  'The first request of each panel fetches all of its data.',
  'From the second on, only the newest points are fetched.',
  '',
]

/** Commands find the usual address by themselves. */
export const adminFlag = (url: string): string =>
  url === `http://${usualAdminAddress}` ? '' : ` --admin ${url.replace('http://', '')}`

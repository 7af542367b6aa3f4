/** Draws a picture as lines of text. Pure: the result follows from the picture, the place and the size. */
import type { Outcome } from '../core/decision.ts'
import { bar, clock, compact, duration, intervalBar, percent, shorten } from './format.ts'
import type { Picture, RecentRequest, Shares } from './tally.ts'

export interface DemoSetup {
  readonly proxyUrl: string
  readonly dashboards: number
}

export interface Screen {
  readonly columns: number
  readonly rows: number
  readonly hasColor: boolean
}

type Ink = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan' | 'magenta'

const codes: Readonly<Record<Ink, number>> = {
  ...{ bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 },
}

const inkOf: Readonly<Record<Outcome, Ink>> = {
  hit: 'green',
  partial: 'cyan',
  miss: 'yellow',
  stale: 'magenta',
  bypass: 'dim',
  refused: 'red',
  error: 'red',
}

const narrowest = 80
const widest = 140

export function drawFrame(picture: Picture, setup: DemoSetup, screen: Screen): string[] {
  const width = Math.min(widest, Math.max(narrowest, screen.columns)) - 2
  const draw = new Drawing(picture, { ...setup, width, hasColor: screen.hasColor })
  const upper = [
    draw.title(),
    '',
    ...draw.shares(),
    '',
    ...draw.latencies(),
    '',
    ...draw.staleness(),
    '',
    draw.legend(),
  ]
  const lower = ['', draw.address()]
  const room = Math.max(3, screen.rows - upper.length - lower.length)
  return [...upper, ...draw.requests(room), ...lower].map((line) => ` ${line}`.trimEnd())
}

class Drawing {
  readonly #picture: Picture
  readonly #given: DemoSetup & { readonly width: number; readonly hasColor: boolean }

  constructor(picture: Picture, given: DemoSetup & { readonly width: number; readonly hasColor: boolean }) {
    this.#picture = picture
    this.#given = given
  }

  title(): string {
    const { elapsedMs, queries, queriesPerSecond } = this.#picture
    const left = 'windowpane demo'
    const counts = `${this.#given.dashboards} dashboards · ${compact(queries)} queries · ${queriesPerSecond.toFixed(1)}/s`
    const right = `${counts} · ${clock(elapsedMs)}`
    const gap = ' '.repeat(Math.max(2, this.#given.width - left.length - right.length))
    return this.#ink('bold', left) + gap + this.#ink('dim', right)
  }

  shares(): string[] {
    const { total, lastMinute, bucketSeconds } = this.#picture
    const barWidth = this.#given.width - 22 - 2 * 13
    const row = (name: string, key: keyof Shares): string => {
      const drawn = this.#ink('green', bar(lastMinute[key], barWidth))
      const now = this.#ink('bold', percent(lastMinute[key]).padStart(13))
      return `${name.padEnd(22)}${drawn}${now}${percent(total[key]).padStart(13)}`
    }
    const header = `${' '.repeat(22 + barWidth)}${'last minute'.padStart(13)}${'since start'.padStart(13)}`
    const { asked, withoutCache } = bucketSeconds
    const less = asked > 0 && withoutCache > asked ? `: ${(withoutCache / asked).toFixed(1)}× less` : ''
    const load = `${compact(asked)} bucket-seconds asked instead of ${compact(withoutCache)}${less}`
    return [
      this.#ink('dim', header),
      row('queries with any hit', 'anyHit'),
      row('data from cache', 'fromCache'),
      row('backend load avoided', 'loadAvoided'),
      `${' '.repeat(22)}${this.#ink('dim', load)}`,
    ]
  }

  latencies(): string[] {
    const line = (name: string, cells: readonly string[]): string =>
      name.padEnd(22) + cells.map((cell) => cell.padStart(11)).join('')
    const rows = this.#picture.outcomes.map(({ outcome, count, p50Ms, p99Ms }) =>
      this.#ink(inkOf[outcome], line(outcome, [compact(count), duration(p50Ms), duration(p99Ms)])),
    )
    const { direct } = this.#picture
    const without = line('asked directly', ['', duration(direct.p50Ms), duration(direct.p99Ms)])
    return [this.#ink('dim', line('latency', ['queries', 'p50', 'p99'])), ...rows, this.#ink('dim', without)]
  }

  staleness(): string[] {
    const { answers, points, outdated, p50Ms, p99Ms, maxMs, violations } = this.#picture.staleness
    const ages = `p50 ${duration(p50Ms)}, p99 ${duration(p99Ms)}, max ${duration(maxMs)}`
    const found = `${this.#ink('bold', percent(outdated / points))} out of date, ${ages}`
    const verdict =
      violations === 0
        ? this.#ink('green', 'none beyond TTL')
        : this.#ink('red', `${compact(violations)} BEYOND TTL`)
    const compared = `${compact(answers)} answers, ${compact(points)} points compared; `
    return [
      `${'true staleness'.padEnd(22)}${outdated === 0 ? 'no point out of date so far' : found}`,
      `${' '.repeat(22)}${this.#ink('dim', compared)}${verdict}`,
    ]
  }

  legend(): string {
    return this.#ink('dim', 'recent requests       █ from cache   ░ fetched   ▒ shared a fetch')
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
    return `${this.#ink(inkOf[outcome], outcome.padEnd(9) + drawn)}${facts}${this.#ink('dim', query)}`
  }

  address(): string {
    const url = this.#ink('bold', this.#given.proxyUrl)
    return `point your Grafana at ${url}${this.#ink('dim', ' (Prometheus) · Ctrl-C ends')}`
  }

  #ink(ink: Ink, text: string): string {
    return this.#given.hasColor ? `\u001b[${codes[ink]}m${text}\u001b[0m` : text
  }
}

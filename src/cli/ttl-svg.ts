/** The TTLs of one backend as a drawing of its own: rate with confidence band, TTL in steps, measured staleness. */
import type { BackendTtl } from '../proxy/admin/ttl.ts'
import type { TtlClass } from '../ttl/ttl-report.ts'
import { secondsText } from './text.ts'
import { ageText, ageTicks, oldest, shareText, youngest } from './ttl-text.ts'

const width = 860
const panelHeight = 190
const left = 80
const right = 20
const top = 40
const panelGap = 44

/** A class on the page: where it begins and ends. */
interface Placed extends TtlClass {
  readonly x1: number
  readonly x2: number
}

interface Panel {
  readonly title: string
  readonly y: number
  /** From a value to a place on the page. */
  readonly place: (value: number) => number
  readonly ticks: readonly (readonly [value: number, label: string])[]
}

export function ttlSvg(report: BackendTtl): string {
  const placed = report.classes.map(placedOf).filter(({ x1, x2 }) => x2 > x1)
  const drawings = [ratePanel(placed), ttlPanel(placed), stalenessPanel(placed, report.budget)].filter(
    (drawing) => drawing !== undefined,
  )
  const panels = drawings.map((draw, i) => draw(top + i * (panelHeight + panelGap)))
  const height = top + drawings.length * (panelHeight + panelGap)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12">
<title>${escaped(titleOf(report))}</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="${left}" y="20" font-size="15">${escaped(titleOf(report))}</text>
${panels.join('\n')}
</svg>
`
}

function titleOf({ backend, rule, shape, budget }: BackendTtl): string {
  const whose = [
    backend,
    ...(rule === undefined ? [] : [`rule ${rule}`]),
    ...(shape === undefined ? [] : [shape]),
  ]
  return `TTLs of ${whose.join(', ')}${budget === null ? '' : `, staleness budget ${shareText(budget)}`}`
}

type Draw = (y: number) => string

/** Undefined where no rate is known. */
function ratePanel(placed: readonly Placed[]): Draw | undefined {
  const perHour = placed.flatMap((each) => {
    const rate = each.rate === null ? 0 : each.rate * 3600
    const upper = each.rateUpper95 === null ? rate : each.rateUpper95 * 3600
    return rate > 0 ? [{ ...each, low: rate, high: Math.max(rate, upper) }] : []
  })
  if (perHour.length === 0) return undefined
  const scale = decades(perHour.flatMap(({ low, high }) => [low, high]))
  return (y) => {
    const panel: Panel = { title: 'changes per hour and bucket, up to the 95 % bound', y, ...scale(y) }
    const { place } = panel
    const bands = perHour.map(({ x1, x2, low, high }) =>
      box({ x1, x2, y1: place(high), y2: place(low) }, 'fill="#e8a33d" fill-opacity="0.3"'),
    )
    const line = stepPath(perHour.map(({ x1, x2, low }) => ({ x1, x2, y: place(low) })))
    return framed(panel, [...bands, pathOf(line, '#b36b00')])
  }
}

function ttlPanel(placed: readonly Placed[]): Draw {
  const scale = decades(placed.map(({ ttlS }) => ttlS))
  return (y) => {
    const { place, ticks } = scale(y)
    const panel: Panel = {
      title: 'TTL; dashed where floor or cap binds it instead of the budget',
      ...{ y, place, ticks: ticks.map(([value]) => [value, secondsText(value)] as const) },
    }
    const steps = placed.map(({ x1, x2, ttlS }) => ({ x1, x2, y: place(ttlS) }))
    const bound = placed.flatMap(({ x1, x2, ttlS, boundBy }) =>
      boundBy === null
        ? []
        : [`<path d="M${x1} ${place(ttlS)}H${x2}" stroke="#fff" stroke-width="2" stroke-dasharray="4 4"/>`],
    )
    return framed(panel, [pathOf(stepPath(steps), '#1f6fb5'), ...bound])
  }
}

/** Undefined where nothing was measured. */
function stalenessPanel(placed: readonly Placed[], budget: number | null): Draw | undefined {
  const measured = placed.filter(({ staleness }) => staleness.samples > 0)
  if (measured.length === 0) return undefined
  const highest = Math.max(...measured.map(({ staleness }) => staleness.high), (budget ?? 0) * 1.5)
  return (y) => {
    const place = (share: number): number => y + panelHeight * (1 - share / highest)
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => [part * highest, shareText(part * highest)] as const)
    const panel: Panel = {
      title: 'measured staleness with its 95 % interval; the line is the budget',
      y,
      place,
      ticks,
    }
    const bands = measured.map(({ x1, x2, staleness: { low, high } }) =>
      box({ x1, x2, y1: place(high), y2: place(low) }, 'fill="#4a9d5b" fill-opacity="0.3"'),
    )
    const line = stepPath(
      measured.map(({ x1, x2, staleness: { estimate } }) => ({ x1, x2, y: place(estimate) })),
    )
    const limit =
      budget === null
        ? []
        : [`<path d="M${left} ${place(budget)}H${width - right}" stroke="#c0392b" stroke-dasharray="6 3"/>`]
    return framed(panel, [...bands, pathOf(line, '#2f7a40'), ...limit])
  }
}

function framed({ title, y, place, ticks }: Panel, inside: readonly string[]): string {
  const bottom = y + panelHeight
  const lines = ticks.map(
    ([value, label]) =>
      `<path d="M${left} ${place(value)}H${width - right}" stroke="#ddd"/><text x="${left - 6}" y="${place(value) + 4}" text-anchor="end">${escaped(label)}</text>`,
  )
  const ages = ageTicks.map(
    (age) =>
      `<path d="M${xOf(age)} ${y}V${bottom}" stroke="#eee"/><text x="${xOf(age)}" y="${bottom + 15}" text-anchor="middle">${ageText(age)}</text>`,
  )
  return [
    `<text x="${left}" y="${y - 6}" fill="#444">${escaped(title)}</text>`,
    ...lines,
    ...ages,
    ...inside,
    `<path d="M${left} ${y}V${bottom}H${width - right}" fill="none" stroke="#444"/>`,
  ].join('\n')
}

/** A logarithmic scale of whole decades that has all values on it. */
function decades(values: readonly number[]): (y: number) => Pick<Panel, 'place' | 'ticks'> {
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
  const exponents = Array.from({ length: high - low + 1 }, (_, i) => low + i)
  return (y) => ({
    place: (value) => rounded(y + (panelHeight * (high - Math.log10(value))) / (high - low)),
    ticks: exponents.map(
      (exponent) => [10 ** exponent, String(Number((10 ** exponent).toPrecision(1)))] as const,
    ),
  })
}

const placedOf = (each: TtlClass): Placed => ({
  ...each,
  x1: xOf(each.ageFromS ?? youngest),
  x2: xOf(each.ageToS ?? oldest),
})

const xOf = (age: number): number => {
  const inside = Math.min(oldest, Math.max(youngest, age))
  return rounded(left + ((width - left - right) * Math.log(inside / youngest)) / Math.log(oldest / youngest))
}

const stepPath = (steps: readonly { x1: number; x2: number; y: number }[]): string =>
  steps.map(({ x1, x2, y }, i) => `${i === 0 ? 'M' : 'L'}${x1} ${y}H${x2}`).join('')

const pathOf = (path: string, colour: string): string =>
  `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`

const box = (at: { x1: number; x2: number; y1: number; y2: number }, style: string): string =>
  `<rect x="${at.x1}" y="${at.y1}" width="${rounded(at.x2 - at.x1)}" height="${rounded(at.y2 - at.y1)}" ${style}/>`

const rounded = (value: number): number => Math.round(value * 10) / 10

const escaped = (text: string): string =>
  text
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')

/** A small plot with two logarithmic axes, as SVG. */

export interface Plot {
  readonly title: string
  readonly x: string
  readonly y: string
  readonly points: readonly { readonly x: number; readonly y: number }[]
}

const [width, height] = [640, 400]
const frame = { left: 70, right: 610, top: 40, bottom: 340 }

export function svgOf({ title, x, y, points }: Plot): string {
  const across = axis(points.map((point) => point.x))
  const up = axis(points.map((point) => point.y))
  const left = (value: number) => Math.round(frame.left + across.share(value) * (frame.right - frame.left))
  const top = (value: number) => Math.round(frame.bottom - up.share(value) * (frame.bottom - frame.top))
  const dots = points.map((point) => `<circle cx="${left(point.x)}" cy="${top(point.y)}" r="4"/>`)
  const line = points.map((point) => `${left(point.x)},${top(point.y)}`).join(' ')
  const below = across.ticks.map(
    (tick) =>
      `<path d="M${left(tick)} ${frame.top}V${frame.bottom}"/><text x="${left(tick)}" y="${frame.bottom + 20}" text-anchor="middle">${short(tick)}</text>`,
  )
  const beside = up.ticks.map(
    (tick) =>
      `<path d="M${frame.left} ${top(tick)}H${frame.right}"/><text x="${frame.left - 8}" y="${top(tick) + 4}" text-anchor="end">${short(tick)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">
<title>${title}</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${frame.left}" y="24" font-size="15" font-weight="bold">${title}</text>
<g stroke="#ddd" fill="#444" stroke-width="1">${[...below, ...beside].join('').replaceAll('<text', '<text stroke="none"')}</g>
<polyline points="${line}" fill="none" stroke="#0a62c4" stroke-width="2"/>
<g fill="#0a62c4">${dots.join('')}</g>
<text x="${(frame.left + frame.right) / 2}" y="${height - 18}" text-anchor="middle">${x}</text>
<text transform="translate(18 ${(frame.top + frame.bottom) / 2}) rotate(-90)" text-anchor="middle">${y}</text>
</svg>
`
}

interface Axis {
  readonly ticks: readonly number[]
  /** Where a value lies, from 0 to 1. */
  share(value: number): number
}

/** From the power of ten below the smallest value to the one above the largest. */
function axis(values: readonly number[]): Axis {
  const from = Math.floor(Math.log10(Math.min(...values)))
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))))
  const ticks = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i))
  return { ticks, share: (value) => (Math.log10(value) - from) / (to - from) }
}

const short = (value: number): string =>
  value >= 1e6 ? `${value / 1e6} M` : value >= 1e3 ? `${value / 1e3} k` : String(value)

/** Numbers and bars for people. */

export interface Drawn {
  readonly window: { readonly start: number; readonly end: number; readonly stepMs: number }
  readonly fetched: { readonly start: number; readonly end: number } | undefined
  readonly isCached: boolean
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A share as a bar of `width` cells, to an eighth of a cell. */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width * 8)
  const drawn = '█'.repeat(Math.floor(filled / 8)) + eighths[filled % 8]!
  return drawn.padEnd(width, '·')
}

/** The window from left to right: a fetched part, however small, is at least one cell. */
export function intervalBar({ window, fetched, isCached }: Drawn, width: number): string {
  if (fetched === undefined) return (isCached ? '█' : '▒').repeat(width)
  const length = window.end - window.start + window.stepMs
  const cell = (at: number): number => ((at - window.start) / length) * width
  const from = Math.min(width - 1, Math.max(0, Math.floor(cell(fetched.start))))
  const to = Math.max(from + 1, Math.min(width, Math.ceil(cell(fetched.end + window.stepMs))))
  return '█'.repeat(from) + '░'.repeat(to - from) + '█'.repeat(width - to)
}

export const percent = (share: number): string =>
  `${(100 * share).toFixed(share > 0 && share < 0.001 ? 3 : 1)} %`

/** 1 234, 56.7 k, 8.9 M. */
export function compact(value: number): string {
  if (value < 10_000) return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ' ')
  const units = ['k', 'M', 'G', 'T']
  let [scaled, unit] = [value / 1000, 0]
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000
    unit++
  }
  return `${scaled.toFixed(scaled < 100 ? 1 : 0)} ${units[unit]}`
}

/** 0.4 ms, 12 ms, 1.4 s, 3 m, 6 h. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} m`
  return `${Math.round(ms / 3_600_000)} h`
}

/** m:ss, or h:mm:ss. */
export function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const tail = String(seconds % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`
}

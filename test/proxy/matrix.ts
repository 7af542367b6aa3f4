/** Range answers in the bytes of Prometheus, and the questions that go with them. */

/** One series per generation of the data; each point contains its own time. */
export function matrixFor(params: URLSearchParams, generation: number): string {
  const [start, end, step] = ['start', 'end', 'step'].map((name) => Number(params.get(name)) * 1000)
  const points: string[] = []
  if (!(step! > 0)) return matrix([])
  for (let at = start!; at <= end!; at += step!) points.push(`[${seconds(at)},"${generation}"]`)
  return matrix([series(params.get('query') ?? '', points)])
}

export const matrix = (all: readonly string[], tail = ''): string =>
  `{"status":"success","data":{"resultType":"matrix","result":[${all.join(',')}]}${tail}}`

export const series = (name: string, points: readonly string[]): string =>
  `{"metric":{"__name__":${JSON.stringify(name)}},"values":[${points.join(',')}]}`

/** An answer of at least `bytes` bytes with a label of its own in every kilobyte. */
export const bigMatrix = (label: string, bytes: number, at: number): Buffer =>
  matrixOf(label, { bytes, at, seriesBytes: 1024 })

/** The same in series of about `seriesBytes` each. */
export function matrixOf(
  label: string,
  { bytes, at, seriesBytes }: { bytes: number; at: number; seriesBytes: number },
): Buffer {
  const count = Math.ceil(bytes / seriesBytes)
  const filler = `${label}-`.repeat(Math.ceil((seriesBytes - 124) / (label.length + 1)))
  const all = Array.from({ length: count }, (_, index) =>
    series(`${label}_${String(index).padStart(9, '0')}_${filler}`, [`[${seconds(at)},"${index}"]`]),
  )
  return Buffer.from(matrix(all))
}

const seconds = (ms: number): string => {
  const whole = Math.floor(ms / 1000)
  return ms % 1000 === 0 ? `${whole}` : `${whole}.${String(ms % 1000).padStart(3, '0')}`
}

export interface Range {
  readonly query?: string
  readonly start: number
  readonly end: number
  readonly stepMs?: number
}

/** The query string of a range query; times in milliseconds. */
export function rangeSearch(range: Range, more: Record<string, string> = {}): string {
  return new URLSearchParams({
    query: range.query ?? 'up',
    start: String(range.start / 1000),
    end: String(range.end / 1000),
    step: String((range.stepMs ?? 60_000) / 1000),
    ...more,
  }).toString()
}

export const rangePath = (range: Range, more: Record<string, string> = {}): string =>
  `/api/v1/query_range?${rangeSearch(range, more)}`

/** The data of the scripted database: a matrix that depends only on the requested instants. */

/** Milliseconds; `end` is included. */
export interface Range {
  readonly start: number
  readonly end: number
  readonly step: number
}

interface Series {
  readonly host: string
  value(seconds: number): number | undefined
}

/** In label order. One series is always there, one comes and goes, one is seldom there. */
const series: readonly Series[] = [
  { host: 'a', value: (seconds) => (seconds % 1000) / 8 },
  { host: 'b', value: (seconds) => (seconds % 150 < 90 ? seconds % 7 : undefined) },
  { host: 'c', value: (seconds) => (seconds % 3600 < 60 ? -1.5 : undefined) },
]

export function matrixOf(range: Range): string {
  const result = series.flatMap((one) => seriesOf(one, range))
  return `{"status":"success","data":{"resultType":"matrix","result":[${result.join(',')}]}}`
}

function seriesOf({ host, value }: Series, { start, end, step }: Range): string[] {
  const points: string[] = []
  for (let at = start; at <= end; at += step) {
    const found = value(at / 1000)
    if (found !== undefined) points.push(`[${at / 1000},"${found}"]`)
  }
  if (points.length === 0) return []
  return [`{"metric":{"__name__":"load","host":"${host}"},"values":[${points.join(',')}]}`]
}

export const buildInfo = JSON.stringify({
  status: 'success',
  data: {
    version: '3.5.0',
    revision: '8be3a95',
    branch: 'x',
    buildUser: 'x',
    buildDate: 'x',
    goVersion: 'go1',
  },
})

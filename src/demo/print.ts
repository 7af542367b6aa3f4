/** Answers as Prometheus prints them: one line, its number formats, labels as JSON. */
import type { EpochMs } from '../core/clock.ts'
import type { Matrix, Row } from './evaluate.ts'
import type { Label } from './metrics.ts'

/** Shortest decimal that reads back; exponents have at least two digits. JavaScript switches at the same magnitudes. */
export function printNumber(value: number): string {
  if (Object.is(value, -0)) return '-0'
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  return String(value).replace(/e([+-])(\d)$/, 'e$10$2')
}

/** Whole seconds, or exactly three decimals. */
export function printInstant(ms: EpochMs): string {
  const rest = ms % 1000
  return rest === 0 ? `${ms / 1000}` : `${Math.floor(ms / 1000)}.${String(rest).padStart(3, '0')}`
}

const printLabels = (labels: readonly Label[]): string =>
  `{${labels.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`

export function printMatrix({ rows, range }: Matrix): string {
  const printed = rows.map(({ labels, values }) => {
    const points: string[] = []
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!
      if (!Number.isNaN(value))
        points.push(`[${printInstant(range.start + i * range.stepMs)},"${printNumber(value)}"]`)
    }
    return `{"metric":${printLabels(labels)},"values":[${points.join(',')}]}`
  })
  return success(`{"resultType":"matrix","result":[${printed.join(',')}]}`)
}

export function printVector(rows: readonly Row[], at: EpochMs): string {
  const printed = rows.map(
    ({ labels, values }) =>
      `{"metric":${printLabels(labels)},"value":[${printInstant(at)},"${printNumber(values[0]!)}"]}`,
  )
  return success(`{"resultType":"vector","result":[${printed.join(',')}]}`)
}

export const success = (data: string): string => `{"status":"success","data":${data}}`

export const failure = (errorType: string, error: string): string =>
  JSON.stringify({ status: 'error', errorType, error })

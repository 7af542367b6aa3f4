/** The Prometheus text format: families, samples, labels. */

export type MetricType = 'counter' | 'gauge' | 'histogram'

/** The closed list of a label's values, with or without their meanings, or a sentence where the operator names them. */
export type LabelValues = readonly string[] | Readonly<Record<string, string>> | string

export interface Family {
  readonly name: string
  readonly type: MetricType
  readonly help: string
  readonly labels: Readonly<Record<string, LabelValues>>
  /** An example query. */
  readonly example?: string
}

type More = Partial<Pick<Family, 'labels' | 'example'>>

export const counter = (name: string, help: string, more: More = {}): Family => ({
  ...{ name, type: 'counter', help, labels: {} },
  ...more,
})
export const gauge = (name: string, help: string, more?: More): Family => ({
  ...counter(name, help, more),
  type: 'gauge',
})
export const histogram = (name: string, help: string, more?: More): Family => ({
  ...counter(name, help, more),
  type: 'histogram',
})

/** The values of the labels, in the order of the family, and the number; undefined where there is none. */
export type Sample = readonly [values: readonly string[], value: number | undefined]

export const family = (of: Family, samples: readonly Sample[]): string =>
  familyOfLines(
    of,
    samples.map(([values, value]) => (value === undefined ? '' : sampleLine(of, values, value))),
  )

/** A family with one sample for each of these. */
export const familyOf = <T>(
  of: Family,
  items: Iterable<T>,
  sampleOf: (item: T, i: number) => Sample,
): string => family(of, Array.from(items, sampleOf))

/** A family whose samples are written already. */
export const familyOfLines = ({ name, type, help }: Family, lines: readonly string[]): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`

/** A family without labels. */
export const single = (of: Family, value: number): string => family(of, [[[], value]])

/** One sample; `values` are those of the family's labels, in their order. */
export function sampleLine(
  { name, labels }: Pick<Family, 'name' | 'labels'>,
  values: readonly string[],
  value: number,
): string {
  const pairs = Object.keys(labels).map((label, i) => `${label}="${escaped(values[i]!)}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${number(value)}\n`
}

const escaped = (value: string): string =>
  /[\\"\n]/.test(value)
    ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : value

export function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

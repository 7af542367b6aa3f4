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

/** name, value, name, value … */
export type Labels = readonly string[]

export const headOf = ({ name, type, help }: Family): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`

export function sample(name: string, labels: Labels, value: number): string {
  return `${name}${labelsOf(labels)} ${number(value)}\n`
}

function labelsOf(labels: Labels): string {
  if (labels.length === 0) return ''
  let text = ''
  for (let i = 0; i < labels.length; i += 2) {
    text += `${i === 0 ? '{' : ','}${labels[i]}="${escaped(labels[i + 1]!)}"`
  }
  return `${text}}`
}

const escaped = (value: string): string =>
  /[\\"\n]/.test(value)
    ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : value

export function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

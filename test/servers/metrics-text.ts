/** Reads single values out of a server's own /metrics. */
import { request } from 'undici'

/** Labels that must be there with these values; others do not matter. */
export type LabelMatcher = Readonly<Record<string, string>>

/** Returns the sum over the matching label sets; 0 when the metric exists with other labels only. */
export async function readMetric(baseUrl: string, name: string, labels: LabelMatcher = {}): Promise<number> {
  const response = await request(`${baseUrl}/metrics`)
  return sumMetric(await response.body.text(), name, labels)
}

/** @throws when there is no metric of that name at all: a mistyped name must not read as "nothing happened". */
export function sumMetric(text: string, name: string, labels: LabelMatcher = {}): number {
  const samples = text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  if (samples.length === 0) throw new Error(`the server has no metric ${name}`)
  return samples.filter((line) => matches(line, labels)).reduce((sum, line) => sum + sampleValue(line), 0)
}

function matches(line: string, labels: LabelMatcher): boolean {
  const present = new Map<string, string>()
  for (const [, label, value] of line.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) present.set(label!, value!)
  return Object.entries(labels).every(([label, value]) => present.get(label) === value)
}

function sampleValue(line: string): number {
  return Number(line.slice(line.lastIndexOf(' ') + 1))
}

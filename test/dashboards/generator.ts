/** Expressions as dashboards send them: idioms with metrics, selectors and intervals put in. */
import { pick, type Random } from '../../src/testing/random.ts'
import type { Idiom } from './idioms.ts'

const metrics = [
  'node_cpu_seconds_total',
  'http_requests_total',
  'kube_pod_info',
  'container_memory_rss',
  'up',
]
const selectors = [
  'job="{J}"',
  'cluster=~"eu-1|eu-2", namespace="shop"',
  'instance=~"node-.+", device!~"lo|veth.*"',
  'pod=~"api-.*",container!=""',
]
const values: Readonly<Record<string, readonly string[]>> = {
  M: metrics,
  N: metrics,
  J: ['node', 'api', 'kubelet'],
  L: ['instance', 'namespace, pod', 'job, code', 'node'],
  // `$__interval` and `$__rate_interval` at some widths of a panel.
  I: ['15s', '30s', '1m', '5m', '1h'],
  R: ['1m0s', '2m', '5m', '10m', '1h'],
}

/** `count` expressions of every template of an idiom. */
export function expressionsOf({ templates }: Idiom, random: Random, count: number): readonly string[] {
  return templates.flatMap((template) => Array.from({ length: count }, () => filled(template, random)))
}

function filled(template: string, random: Random): string {
  const chosen = new Map(Object.entries(values).map(([name, choices]) => [name, pick(random, choices)]))
  return template
    .replaceAll('{S}', pick(random, selectors))
    .replace(/\{([MNJLIR])\}/g, (_, name: string) => chosen.get(name)!)
}

/** The shipped dashboard and alert rules, read as queries to Prometheus. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import { parse } from 'yaml'

export const deployFolder = join(import.meta.dirname, '../../deploy')
export const rulesFile = join(deployFolder, 'alerts/windowpane.yaml')

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: { readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly instant: boolean }[]
}

export interface Dashboard {
  readonly uid: string
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[]
  }
}

export interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export const readDashboard = async (): Promise<Dashboard> =>
  JSON.parse(await readFile(join(deployFolder, 'grafana/windowpane.json'), 'utf8')) as Dashboard

export async function readRules(): Promise<readonly Rule[]> {
  const { groups } = parse(await readFile(rulesFile, 'utf8')) as { groups: { rules: Rule[] }[] }
  return groups.flatMap(({ rules }) => rules)
}

/** Every instance and backend; `window` for the intervals that Grafana works out. */
export const withVariables = (expr: string, window: string): string =>
  expr
    .replaceAll(/\$__(rate_interval|range)\b/g, window)
    .replaceAll(/\$(job|instance|backend|store)\b/g, '.*')

/** The metrics that a query names; undefined where it is not PromQL. */
export function metricsIn(query: string): readonly string[] | undefined {
  const names = new Set<string>()
  let isWrong = false
  parser.parse(query).iterate({
    enter(node) {
      isWrong ||= node.type.isError
      const name = node.name === 'VectorSelector' ? node.node.getChild('Identifier') : null
      if (name !== null) names.add(query.slice(name.from, name.to))
    },
  })
  return isWrong ? undefined : [...names]
}

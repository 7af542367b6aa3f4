/** The tables of docs/guide/scale.md. */
import { type Costs, coresFor, dynamoDbPerMonth } from './costs.ts'
import { type Demand, dashboard, demandOf, type Workload } from './model.ts'

/** From a small team to more than one database serves. */
const sizes: readonly (readonly [nodes: number, viewers: number, shapes: number])[] = [
  [1, 1e4, 1e3],
  [10, 1e4, 1e3],
  [10, 1e5, 1e4],
  [100, 1e5, 1e4],
  [100, 1e6, 1e5],
  [1000, 1e6, 1e5],
]

const workloads: readonly Workload[] = sizes.map(([nodes, viewers, shapes]) => ({
  ...dashboard,
  ...{ nodes, viewers, shapes },
}))

const engines = ['redis', 'cassandra', 'dynamodb'] as const

export function demandTable(costs: Costs): string {
  return tableOf(
    [
      'nodes',
      'viewers',
      'shapes',
      'requests/s',
      'database queries/s',
      'store reads/s',
      'store writes/s',
      'cell operations/s',
      ...engines.map((engine) => `cores with ${engine}`),
    ],
    workloads.map((workload) => {
      const demand = demandOf(workload)
      const { requests, queries, reads, writes, cellReads, cellWrites } = demand
      const cores = engines.map((engine) => {
        const store = costs.stores[engine]
        return store ? count(coresFor(demand, costs, store)) : 'not measured'
      })
      return [
        ...[workload.nodes, workload.viewers, workload.shapes, requests, queries, reads, writes].map(count),
        ...[count(cellReads + cellWrites), ...cores],
      ]
    }),
  )
}

export function bytesTable(costs: Costs): string {
  const perSecond = (of: keyof Demand) => (demand: Demand) => bytes(demand[of], '/s')
  return tableOf(
    [
      'nodes',
      'viewers',
      'shapes',
      'from the store',
      'to the store',
      'from the database',
      'to viewers',
      'stored',
      'hottest claim, operations/s',
      'DynamoDB, $ a month',
    ],
    workloads.map((workload) => {
      const demand = demandOf(workload)
      return [
        ...[workload.nodes, workload.viewers, workload.shapes].map(count),
        ...(['storeBytesOut', 'storeBytesIn', 'databaseBytes', 'viewerBytes'] as const).map((of) =>
          perSecond(of)(demand),
        ),
        ...[
          bytes(demand.storedBytes, ''),
          count(demand.hottestClaim),
          workload.nodes === 1 ? '–' : count(dynamoDbPerMonth(demand, workload, costs)),
        ],
      ]
    }),
  )
}

export function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Two digits that count, and spaces between thousands. */
export function count(value: number): string {
  const rounded = value >= 10 ? Math.round(Number(value.toPrecision(2))) : Number(value.toPrecision(2))
  return rounded.toLocaleString('en-US').replaceAll(',', ' ')
}

function bytes(value: number, per: string): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let unit = 0
  let rest = value
  for (; rest >= 1000 && unit < units.length - 1; unit++) rest /= 1000
  return `${count(rest)} ${units[unit]}${per}`
}

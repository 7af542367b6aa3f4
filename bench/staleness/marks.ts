/** Conditions that the table must meet, as far as it has the rows for them. */
import { changeModels } from '../../test/rigs/change-models.ts'
import { policyLabel, type Row } from './summary.ts'

interface Mark {
  readonly text: string
  /** The figure of each row that the mark is about, the highest that is allowed, and which row it is. */
  readonly figures: readonly { readonly of: string; readonly figure: number; readonly allowed: number }[]
}

/** Costs relative to the oracle. With sentinels, batches and backfills are seen sooner than by an oracle of mean rates. */
const allowedCost = { batch: 1, backfill: 1.1, burst: 1.6 } as const

export function printMarks(rows: readonly Row[]): void {
  console.log('\n### Marks\n')
  for (const { text, figures } of marksOf(rows)) {
    if (figures.length === 0) continue
    const missed = figures.filter(({ figure, allowed }) => !(figure <= allowed))
    const worst = figures.reduce((a, b) => (b.figure / b.allowed > a.figure / a.allowed ? b : a))
    console.log(
      `- ${missed.length === 0 ? 'kept' : '**missed**'}: ${text} (${figures.length - missed.length} of ${figures.length}; worst ${worst.figure.toFixed(2)} of ${worst.allowed}, ${worst.of})`,
    )
    for (const { of, figure, allowed } of missed)
      console.log(`  - ${of}: ${figure.toFixed(2)}, allowed ${allowed}`)
  }
}

function marksOf(rows: readonly Row[]): Mark[] {
  const learned = rows.filter(({ policy }) => policy.kind === 'learned')
  const stationary = learned.filter(({ case: { models } }) => changeModels[models[0]!].isIndependent)
  return [
    {
      text: 'true staleness ÷ budget in every group of ages, stationary streams, mean over seeds ≤ 1',
      figures: stationary.map((row) => ({ of: nameOf(row), figure: row.worstMean!, allowed: 1 })),
    },
    {
      text: 'the same in a single seed ≤ 1.2',
      figures: stationary.map((row) => ({ of: nameOf(row), figure: row.worstSeed!, allowed: 1.2 })),
    },
    { text: 'bucket-seconds ÷ the oracle', figures: learned.flatMap((row) => againstOracle(row, rows)) },
    {
      text: 'bucket-seconds, one interval ÷ several, ≤ 1.5',
      figures: learned.flatMap((row) => againstSeveral(row, rows)),
    },
    {
      text: 'bucket-seconds ÷ the ladder, 24 h window',
      figures: learned.flatMap((row) => againstLadder(row, rows)),
    },
  ]
}

export const oracleOf = (row: Row, rows: readonly Row[]): Row | undefined =>
  'budget' in row.policy ? withPolicy(row, rows, { kind: 'oracle', budget: row.policy.budget }) : undefined

function againstOracle(row: Row, rows: readonly Row[]): Mark['figures'] {
  const oracle = oracleOf(row, rows)
  if (oracle === undefined) return []
  const [model] = row.case.models
  const allowed = (allowedCost as Record<string, number>)[model!] ?? 1.3
  return [{ of: nameOf(row), figure: row.bucketsPerHour / oracle.bucketsPerHour, allowed }]
}

function againstSeveral(row: Row, rows: readonly Row[]): Mark['figures'] {
  if (row.case.several) return []
  const several = find(rows, { ...row.case, several: true }, row.policy)
  if (several === undefined) return []
  return [{ of: nameOf(row), figure: row.bucketsPerHour / several.bucketsPerHour, allowed: 1.5 }]
}

function againstLadder(row: Row, rows: readonly Row[]): Mark['figures'] {
  const {
    case: { models, viewers, windowHours },
    policy,
  } = row
  const fewer = fewerThanLadder(`${models[0]} ${'budget' in policy && policy.budget}`, viewers === 1)
  const ladder = withPolicy(row, rows, { kind: 'ladder' })
  if (fewer === undefined || windowHours !== 24 || ladder === undefined) return []
  const allowed = Number((1 / fewer).toFixed(3))
  return [{ of: nameOf(row), figure: row.bucketsPerHour / ladder.bucketsPerHour, allowed }]
}

function fewerThanLadder(stream: string, isAlone: boolean): number | undefined {
  if (stream.startsWith('never ')) return isAlone ? 2 : 1.8
  if (stream === 'exp 0.05') return isAlone ? 1.7 : 1.4
  return undefined
}

const withPolicy = (row: Row, rows: readonly Row[], policy: Row['policy']): Row | undefined =>
  find(rows, row.case, policy)

function find(
  rows: readonly Row[],
  { models, windowHours, viewers, several }: Row['case'],
  policy: Row['policy'],
): Row | undefined {
  const wanted = JSON.stringify([models, windowHours, viewers, several, policy])
  return rows.find(
    ({ case: each, policy }) =>
      JSON.stringify([each.models, each.windowHours, each.viewers, each.several, policy]) === wanted,
  )
}

const nameOf = (row: Row): string => {
  const {
    case: { models, several, windowHours, viewers },
  } = row
  return `${models[0]}, ${policyLabel(row)}, ${several ? 'several' : 'one'}, ${windowHours} h, ${viewers} viewers`
}

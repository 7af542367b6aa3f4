/** Prints rows as tables, one for each rule, window and number of viewers. */
import { ageGroups } from '../../test/rigs/staleness-tally.ts'
import { oracleOf } from './marks.ts'
import { policyLabel, type Row } from './summary.ts'

export function printTables(rows: readonly Row[]): void {
  for (const of of Map.groupBy(rows, settingOf).values()) {
    console.log(`\n### ${settingOf(of[0]!)}\n`)
    line(
      'model',
      'policy',
      'true staleness, %',
      'measured, %',
      'covers',
      'queries/h',
      'bucket-s/h',
      '× oracle',
      'worst ÷ budget',
      'worst seed',
    )
    line(...Array.from({ length: 10 }, () => '---'))
    for (const row of of) line(...cellsOf(row, rows))
  }
  console.log(
    `\nStaleness by age: ${ageGroups.map(({ label }) => label).join(' · ')}. Worst ÷ budget leaves out ages at which the floor binds.`,
  )
}

const settingOf = ({ case: { several, windowHours, viewers } }: Row): string =>
  `${several ? 'several intervals' : 'one interval'}, ${windowHours} h window, ${viewers === 1 ? '1 viewer' : `${viewers} viewers`}`

function cellsOf(row: Row, rows: readonly Row[]): string[] {
  const oracle = oracleOf(row, rows)
  const { measured, covered } = row
  return [
    row.case.models[0]!,
    policyLabel(row),
    row.staleness.map(percent).join(' · '),
    measured
      .map(({ estimate, low, high }) => `${percent(estimate)} (${percent(low)}–${percent(high)})`)
      .join(' · '),
    covered.of === 0 ? '' : `${covered.groups}/${covered.of}`,
    row.queriesPerHour.toFixed(0),
    (60 * row.bucketsPerHour).toFixed(0),
    oracle === undefined ? '' : (row.bucketsPerHour / oracle.bucketsPerHour).toFixed(2),
    row.worstMean?.toFixed(2) ?? '',
    row.worstSeed?.toFixed(2) ?? '',
  ]
}

const percent = (share: number | undefined): string => {
  if (share === undefined) return '–'
  return share === 0 ? '0' : (100 * share).toFixed(100 * share < 10 ? 2 : 0)
}

const line = (...cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`)

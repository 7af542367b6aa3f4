/** A cell as columns of its table, and back. */
import { levelsIn, levelsText } from '../bucket-text.ts'
import { clocksFrom, namedClocks } from '../cell-names.ts'
import type { Cell } from '../cells.ts'
import type { Row } from './library.ts'

/** Besides those of the primary key. All are written each time, and none of them as null, which would be a tombstone. */
export const writtenColumns = [
  'rev',
  'kind',
  'v',
  'collect_at',
  'figures',
  'texts',
  'integers',
  'value',
] as const

/** "Never", which no collection clock is. */
const never = 0n

/** The values of `writtenColumns`. */
export function columnsOf(cell: Cell): unknown[] {
  const { rev, kind, v, collectAt, clocks, attributes = {}, levels, value } = cell
  const collection = collectAt === 'never' ? never : BigInt(collectAt)
  const texts = Object.entries(attributes).filter(([, text]) => typeof text === 'string')
  if (levels !== undefined) texts.push(['levels', levelsText(levels)])
  const integers = Object.entries(attributes).flatMap(([name, number]) =>
    typeof number === 'number' ? [[name, BigInt(number)] as const] : [],
  )
  const maps = [namedClocks(clocks), texts, integers].map((entries) => Object.fromEntries<unknown>(entries))
  return [rev, kind, v, collection, ...maps, Buffer.from(value)]
}

/** `row` has all of `writtenColumns`. */
export function cellIn(row: Row): Cell {
  const figures = (row['figures'] ?? {}) as Readonly<Record<string, number>>
  const { levels, ...texts } = (row['texts'] ?? {}) as Readonly<Record<string, string>>
  const integers = Object.entries((row['integers'] ?? {}) as Readonly<Record<string, bigint>>)
  const attributes = { ...texts, ...Object.fromEntries(integers.map(([name, n]) => [name, Number(n)])) }
  const collection = row['collect_at'] as bigint
  return {
    rev: row['rev'] as string,
    kind: row['kind'] as string,
    v: row['v'] as number,
    clocks: clocksFrom((name) => figures[name]),
    collectAt: collection === never ? 'never' : Number(collection),
    value: row['value'] as Buffer,
    ...(levels !== undefined && { levels: levelsIn(levels) }),
    ...(Object.keys(attributes).length > 0 && { attributes }),
  }
}

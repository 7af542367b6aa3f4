/** Keeps the number of marks within a limit: several marks are replaced by one that covers them all. */
import { folded, hasAllOf, type Mark } from '../core/mark.ts'

/** A mark replaces the marks that it covers: a purge that is repeated every minute is one mark. */
export function withMark(marks: readonly Mark[], mark: Mark): readonly Mark[] {
  if (marks.some((other) => hasAllOf(other, mark))) return marks
  return [...marks.filter((other) => !hasAllOf(mark, other)), mark]
}

/** At most `maxMarks` marks that cover at least the given ones, and the marks among them that were made here. */
export function fitted(
  given: readonly Mark[],
  maxMarks: number,
): { readonly marks: readonly Mark[]; readonly folds: readonly Mark[] } {
  let marks = given
  const folds: Mark[] = []
  for (let many = toFold(marks); marks.length > maxMarks && many !== undefined; many = toFold(marks)) {
    const fold = folded(many)
    folds.push(fold)
    marks = withMark(marks, fold)
  }
  return { marks, folds }
}

/** Of one data source, where one has several: the others are not touched then. */
const toFold = (marks: readonly Mark[]): readonly [Mark, Mark, ...Mark[]] | undefined =>
  olderHalf(marks, ({ backend = '', source }) => source && `${backend} ${source}`) ??
  olderHalf(marks, ({ backend = '' }) => backend)

/** The older half of the marks of the group that has most; undefined where no two are of one group. */
function olderHalf(
  marks: readonly Mark[],
  groupOf: (mark: Mark) => string | undefined,
): readonly [Mark, Mark, ...Mark[]] | undefined {
  const grouped = Map.groupBy(marks, groupOf)
  grouped.delete(undefined)
  const groups = [...grouped.values()]
  const largest = groups.reduce((a, b) => (b.length > a.length ? b : a), [])
  const [first, second, ...more] = largest.toSorted((a, b) => a.at - b.at)
  if (first === undefined || second === undefined) return undefined
  return [first, second, ...more.slice(0, Math.ceil(more.length / 2))]
}

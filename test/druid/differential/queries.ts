/** Every form of the suite. */
import type { Form } from './form.ts'
import { filterForms } from './forms/filters.ts'
import { granularityForms } from './forms/granularities.ts'
import { groupByForms } from './forms/group-by.ts'
import { otherForms } from './forms/not-decomposable.ts'
import { sqlBoundForms } from './forms/sql-bounds.ts'
import { sqlBucketForms } from './forms/sql-buckets.ts'
import { formatForms } from './forms/sql-formats.ts'
import { sqlOrderForms } from './forms/sql-orders.ts'
import { sqlQuestionForms } from './forms/sql-questions.ts'
import { timeseriesForms } from './forms/timeseries.ts'
import { topNForms } from './forms/top-n.ts'

export const nativeForms: readonly Form[] = [
  ...granularityForms,
  ...timeseriesForms,
  ...groupByForms,
  ...topNForms,
  ...filterForms,
  ...otherForms,
]

export const sqlForms: readonly Form[] = [
  ...formatForms,
  ...sqlBucketForms,
  ...sqlBoundForms,
  ...sqlQuestionForms,
  ...sqlOrderForms,
]

/** Every form of the suite. */
import type { Form } from './form.ts'
import { filterForms } from './forms/filters.ts'
import { granularityForms } from './forms/granularities.ts'
import { groupByForms } from './forms/group-by.ts'
import { otherForms } from './forms/not-decomposable.ts'
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

/** Every query form of the suite, over the metrics of test/data/dataset.ts. */
import type { Form } from './form.ts'
import { functionForms } from './forms/functions.ts'
import { histogramForms } from './forms/histograms.ts'
import { operatorForms } from './forms/operators.ts'
import { selectorForms } from './forms/selectors.ts'
import { specialForms } from './forms/special.ts'

export const forms: readonly Form[] = [
  ...selectorForms,
  ...functionForms,
  ...operatorForms,
  ...histogramForms,
  ...specialForms,
]

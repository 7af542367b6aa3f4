/** Every query form of the suite, over the metrics of test/data/dataset.ts. */
import type { Form, Version } from './form.ts'
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

/** The forms as they are with the Prometheus that calls itself `version`: the same ones in the same order. */
export const formsFor = (version: string): readonly Form[] =>
  forms.map((form) =>
    form.eligibleSince !== undefined && isAtLeast(version, form.eligibleSince)
      ? { query: form.query, eligible: true }
      : form,
  )

/** Reads '3.5.3+ds1' and the like. */
export function isAtLeast(version: string, [major, minor]: Version): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}

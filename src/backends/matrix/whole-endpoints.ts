/** The endpoints of Prometheus' API whose answers are cached as a whole, and for how long unless configured otherwise. */
import type { EndpointTerms } from '../whole-answers.ts'

const halfDay = 43_200

/** Lists change when series come and go: a minute late is not noticed, and an outage of hours must not blank a variable. */
const lists = { revalidateSeconds: 60, staleWhileRevalidateSeconds: 600, staleIfErrorSeconds: halfDay }

export const endpoints = {
  labels: { meaning: 'label names and the values of a label (`/labels`, `/label/<name>/values`)', ...lists },
  series: { meaning: 'series that match (`/series`)', ...lists },
  metadata: {
    meaning: 'types and help texts of metrics (`/metadata`)',
    ...{ revalidateSeconds: 300, staleWhileRevalidateSeconds: 3600, staleIfErrorSeconds: halfDay },
  },
  rules: {
    meaning: 'rules and active alerts (`/rules`, `/alerts`)',
    ...{ revalidateSeconds: 5, staleWhileRevalidateSeconds: 0, staleIfErrorSeconds: 'maxStale' },
  },
  exemplars: {
    meaning: 'exemplars (`/query_exemplars`)',
    ...{ revalidateSeconds: 10, staleWhileRevalidateSeconds: 0, staleIfErrorSeconds: 'maxStale' },
  },
  instant: {
    meaning:
      'instant queries (`/query`), evaluated at a `time` that rarely repeats: see `instant.within`. The last answer is kept for outages only',
    ...{ revalidateSeconds: 0, staleWhileRevalidateSeconds: 0, staleIfErrorSeconds: 'maxStale' },
  },
  status: {
    meaning: 'version and flags of the server (`/status/buildinfo`, `/status/flags`)',
    ...{ revalidateSeconds: 60, staleWhileRevalidateSeconds: 300, staleIfErrorSeconds: halfDay },
  },
} as const satisfies Readonly<Record<string, EndpointTerms>>

/** The health of the databases' URLs. */
import { headOf, sample } from './exposition.ts'
import { families } from './families.ts'

export interface UpstreamHealth {
  readonly backend: string
  /** As configured, without credentials. */
  readonly url: string
  readonly isHealthy: boolean
}

export const upstreamFamily = (all: readonly UpstreamHealth[]): string =>
  headOf(families.upstreamUp) +
  all
    .map(({ backend, url, isHealthy }) =>
      sample(families.upstreamUp.name, ['backend', backend, 'upstream', url], isHealthy ? 1 : 0),
    )
    .join('')

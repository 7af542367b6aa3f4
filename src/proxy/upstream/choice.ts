/** Several equal databases: which one gets the next request. */
import type { Endpoint } from './endpoint.ts'

export interface Choice {
  readonly endpoint: Endpoint
  /** The one request that finds out whether a database is back. */
  readonly isTrial: boolean
}

export class Endpoints {
  readonly all: readonly Endpoint[]
  /** Whether something else finds out who is back: then no client's request is put at risk. */
  readonly #isProbed: boolean
  #turn = 0

  constructor(all: readonly Endpoint[], isProbed: boolean) {
    this.all = all
    this.#isProbed = isProbed
  }

  /** A request that may be repeated is the trial of one whose time out is over; any other goes where it is safe. */
  first(isSafe: boolean): Choice {
    const healthy = this.#firstHealthy()
    if (healthy === undefined) return this.#next()
    const onTrial = isSafe && !this.#isProbed ? this.all.find((each) => each.health.beginTrial()) : undefined
    return onTrial === undefined
      ? { endpoint: healthy, isTrial: false }
      : { endpoint: onTrial, isTrial: true }
  }

  /** Where all are out, one of them may have come back unnoticed. */
  other(failed: Endpoint): Choice | undefined {
    const healthy = this.#firstHealthy(failed)
    if (healthy !== undefined) return { endpoint: healthy, isTrial: false }
    return this.all.length > 1 ? this.#next(failed) : undefined
  }

  /**
   * Always the first that is well, not each in turn: replicas scrape at different moments, and an answer must not be put
   * together from several truths.
   */
  #firstHealthy(except?: Endpoint): Endpoint | undefined {
    return this.all.find((each) => each !== except && each.health.isHealthy)
  }

  /** All are down: they are tried in turn all the same, as if there were only one. */
  #next(except?: Endpoint): Choice {
    let endpoint = this.all[this.#turn++ % this.all.length]!
    if (endpoint === except) endpoint = this.all[this.#turn++ % this.all.length]!
    return { endpoint, isTrial: endpoint.health.beginTrial() }
  }
}

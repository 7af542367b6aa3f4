/**
 * A server that is assumed to be of a kind proves it: its answers are only compared, until enough of the answers that
 * would have come from the cache were equal. An answer that differs for no known cause starts the count anew.
 */
import type { ProbationSettings } from '../../backends/kind.ts'
import type { ShadowLog } from '../../engine/shadow/log.ts'

type Findings = Pick<ShadowLog, 'equal' | 'mismatch' | 'skip'>

export class Probation implements Findings {
  readonly #settings: ProbationSettings
  readonly #log: Findings
  #equal = 0

  constructor(settings: ProbationSettings, log: Findings) {
    this.#settings = settings
    this.#log = log
  }

  /** Why the cache stays in shadow mode; undefined once it need not. */
  get reason(): string | undefined {
    const { label, comparisons } = this.#settings
    if (this.#equal >= comparisons) return undefined
    return `the server is assumed to be ${label}: ${this.#equal} of ${comparisons} answers from the cache were equal to its own (assume.comparisons)`
  }

  equal(...[backend, wouldBe]: Parameters<ShadowLog['equal']>): void {
    if (wouldBe !== 'miss') this.#equal++
    this.#log.equal(backend, wouldBe)
  }

  mismatch(...[wouldBe, found]: Parameters<ShadowLog['mismatch']>): void {
    if (!found.isExplained && this.#equal < this.#settings.comparisons) this.#equal = 0
    this.#log.mismatch(wouldBe, found)
  }

  skip(...given: Parameters<ShadowLog['skip']>): void {
    this.#log.skip(...given)
  }
}

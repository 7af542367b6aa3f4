/**
 * A server that is assumed to be of a kind proves it: its answers are only compared, until enough of the answers that
 * would have come from the cache were equal. An answer that differs for no known cause starts the count anew.
 */
import type { ShadowLog } from '../../engine/shadow/log.ts'

type Findings = Pick<ShadowLog, 'equal' | 'mismatch' | 'skip'>

export class Probation implements Findings {
  readonly #needed: number
  readonly #log: Findings
  #equal = 0

  constructor(needed: number, log: Findings) {
    this.#needed = needed
    this.#log = log
  }

  /** Why the cache stays in shadow mode; undefined once it need not. */
  get reason(): string | undefined {
    if (this.#equal >= this.#needed) return undefined
    return `the server is assumed to be Prometheus: ${this.#equal} of ${this.#needed} answers from the cache were equal to its own (assume.comparisons)`
  }

  equal(...[backend, wouldBe]: Parameters<ShadowLog['equal']>): void {
    if (wouldBe !== 'miss') this.#equal++
    this.#log.equal(backend, wouldBe)
  }

  mismatch(...[wouldBe, found]: Parameters<ShadowLog['mismatch']>): void {
    if (!found.isExplained && this.#equal < this.#needed) this.#equal = 0
    this.#log.mismatch(wouldBe, found)
  }

  skip(...given: Parameters<ShadowLog['skip']>): void {
    this.#log.skip(...given)
  }
}

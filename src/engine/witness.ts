/** The current statements of a witness, for lookups. The segments are polled in proxy/upstream/witness.ts. */
import type { Plan } from '../backends/backend.ts'
import {
  type Vouched,
  type VouchedBuckets,
  type VouchedObject,
  type VouchedSpan,
  vouchedBuckets,
  vouchedSpan,
} from '../core/witness.ts'

export class Witness {
  #vouched: Vouched | undefined

  /** Adopts the last view, of this thread or another one. */
  follow(vouched: Vouched): void {
    this.#vouched = vouched
  }

  get vouched(): Vouched | undefined {
    return this.#vouched
  }

  /** Undefined where it has no statement about the buckets of a plan. */
  vouchedFor(plan: Plan): VouchedBuckets | undefined {
    return this.#vouched && vouchedBuckets(this.#vouched, plan)
  }

  /** The same about an answer that is kept as a whole. */
  vouchedForObject(object: VouchedObject): VouchedSpan | undefined {
    return this.#vouched && vouchedSpan(this.#vouched, object)
  }
}

/** For the rules of a lookup: called only where it matters. */
export const vouchedOver = (
  { witness }: { readonly witness?: Pick<Witness, 'vouchedFor'> | undefined },
  plan: Plan,
): (() => VouchedBuckets | undefined) | undefined => witness && (() => witness.vouchedFor(plan))

/** The first thing that is done about a request: its token is taken. */
import type { HeaderList } from '../../backends/backend.ts'
import type { MaybePromise } from '../../stores/store.ts'
import type { Admission, Quota } from '../quotas/quota.ts'
import type { Outgoing } from './outgoing.ts'
import type { OwnAnswers } from './own-answers.ts'

export interface Admitting {
  /** Without one no client is limited. */
  readonly quota: Quota | undefined
  readonly own: OwnAnswers
  readonly headers: HeaderList
}

/** Goes on once the request token is taken: at once where tokens are counted in this thread. */
export function whenAdmitted(
  outgoing: Outgoing,
  { quota, own, headers }: Admitting,
  proceed: () => MaybePromise<void>,
): MaybePromise<void> {
  if (quota?.isActive !== true) return proceed()
  const admission = quota.admit({ headers, address: outgoing.clientAddress })
  const goOn = ({ ticket, refusal }: Admission): MaybePromise<void> => {
    if (refusal !== undefined) return own.overQuota(outgoing, refusal, ticket.entity)
    outgoing.ticket = ticket
    return proceed()
  }
  return admission instanceof Promise ? admission.then(goOn) : goOn(admission)
}

/** Charges a request whose answer is cached whole, where it was the one that queried the database. */
export function chargeWhole({ ticket, decision }: Outgoing): void {
  if (decision.outcome === 'miss' && decision.collapsed !== true) ticket?.spendFlat()
}

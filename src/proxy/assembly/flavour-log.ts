/** Log lines about the detected flavour of a database, and whether it can be reached. */
import type { Flavour } from '../../backends/backend.ts'
import { withoutCredentials } from '../../core/url.ts'
import type { FlavourWatch } from '../../engine/http/flavour.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Observer } from '../../telemetry/telemetry.ts'

interface Recheck {
  readonly name: string
  /** A description of the response that came instead. */
  readonly instead: string | undefined
  readonly flavour: Flavour
}

/** Logs once that a known database cannot be queried again, and once that it can. */
export function logRecheck(log: Pick<Log, 'change'> | undefined, { name, instead, flavour }: Recheck): void {
  const is =
    instead === undefined
      ? 'answered'
      : `answered otherwise: ${instead}; it is still taken for ${flavour.label}`
  log?.change(`version check of ${name}`, { is, isGood: instead === undefined }, { backend: name })
}

interface Noted {
  readonly name: string
  readonly url: string
  readonly log: Observer['log']
}

/** The topic of outages is that of the decision log: an unreachable database is one warning, whichever part notices. */
export function logFlavour(flavour: FlavourWatch, { name, url, log }: Noted): void {
  const { isKnown, label, silence } = flavour.current
  const told = { detail: label, url: withoutCredentials(url) }
  if (!flavour.hasAnswered) {
    const is = silence === 'server_error' ? 'answers with a server error' : 'cannot be reached'
    log.change(`database ${name}`, { is, isGood: false }, told)
    return
  }
  log.change(`database ${name}`, { is: 'answers', isGood: true })
  const is = isKnown ? label : 'not known, so that requests are forwarded uncached'
  const remedy = 'windowpane check --connect shows which server answers'
  log.change(`flavour of ${name}`, { is, isGood: isKnown }, isKnown ? {} : { ...told, remedy })
}

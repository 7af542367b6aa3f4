/** `identity: user` trusts a header: checks which clients can set it. */
import type { Config } from '../../config/schema.ts'
import { type Finding, found } from '../../core/finding.ts'
import { isLocalAddress } from '../../core/socket-address.ts'

/** One finding for each backend that distinguishes clients by a user header. */
export function checkIdentity(config: Config): Finding[] {
  return Object.entries(config.backends).flatMap(([name, { identity, listen = config.listen }]) => {
    const isRuled = config.rules.some((rule) => rule.identity === 'user' && isAbout(rule, name))
    return identity === 'user' || isRuled ? [userFinding(name, listen)] : []
  })
}

const isAbout = ({ match }: Config['rules'][number], name: string): boolean =>
  match.backend === undefined || match.backend === name

function userFinding(name: string, listen: string): Finding {
  const about = found(`identity ${name}`)
  const text = `identity: user trusts the user header of every client that reaches ${listen}`
  if (isLocalAddress(listen)) return about.ok(`${text}, which is loopback.`)
  const remedy =
    'Let only Grafana, or the proxy that sets the header, reach this listener: bind it to loopback or filter its port.'
  return about.warn(
    `${text}: a client that sets X-Grafana-User reads the cached answers of that user.`,
    remedy,
  )
}

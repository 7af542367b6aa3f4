/** The meaning of an error of the client or the server, for an operator. */

export interface RedisTrouble {
  /** A stable word for status and metrics. */
  readonly trouble: 'unreachable' | 'denied' | 'untrusted' | 'full' | 'failing'
  /** A clause whose subject is the server. */
  readonly detail: string
  readonly remedy: string
}

const certificateCodes = /CERT|UNABLE_TO_VERIFY|SELF_SIGNED|ERR_SSL|ERR_TLS/

interface KnownTrouble extends Pick<RedisTrouble, 'trouble' | 'remedy'> {
  readonly message: RegExp
  readonly clause: string
}

/** In the order in which they are looked for. */
const known: readonly KnownTrouble[] = [
  {
    message: /WRONGPASS|NOAUTH|invalid password|invalid username-password/i,
    trouble: 'denied',
    clause: 'refuses the user or the password',
    remedy: 'check username and passwordFile',
  },
  {
    message: /NOPERM/,
    trouble: 'denied',
    clause: 'does not grant this user the required permissions',
    remedy: 'give the user the permissions that docs/guide/redis.md lists',
  },
  {
    message: /\bOOM\b/,
    trouble: 'full',
    clause: 'has no memory left and evicts nothing',
    remedy: 'raise maxmemory, or set maxmemory-policy to volatile-lru',
  },
  {
    message: /No such master with that name|got an invalid reply: null/,
    trouble: 'failing',
    clause: 'is not known to the sentinels',
    remedy: 'check sentinel',
  },
  {
    message: /READONLY/,
    trouble: 'failing',
    clause: 'is a replica, which takes no writes',
    remedy: 'name the primary, or sentinels',
  },
  {
    message: /MISCONF|CLUSTERDOWN|LOADING|MASTERDOWN|NOREPLICAS/,
    trouble: 'failing',
    clause: 'does not take commands at present',
    remedy: 'look at its log',
  },
  {
    message: /DB index is out of range|SELECT is not allowed/i,
    trouble: 'failing',
    clause: 'does not have this database',
    remedy: 'choose another one; a cluster has only database 0',
  },
]

/** The clients' errors carry the command, a password among its arguments: only their message is ever shown. */
export function troubleOf(given: Error): RedisTrouble {
  // A cluster without a usable server reports the reason of the last one.
  const error = (given as { lastNodeError?: Error }).lastNodeError ?? given
  const { message } = error
  const code = String((error as NodeJS.ErrnoException).code ?? '')
  const found = known.find((one) => one.message.test(message))
  if (found !== undefined)
    return { trouble: found.trouble, detail: `${found.clause} (${message})`, remedy: found.remedy }
  if (certificateCodes.test(code))
    return {
      trouble: 'untrusted',
      detail: `has a certificate that is not trusted, or does not speak TLS (${message})`,
      remedy: 'name the authority that signed it with ca',
    }
  return {
    trouble: 'unreachable',
    detail: `cannot be reached (${message || code})`,
    remedy: 'check hosts, and that the server runs; the connection is tried again by itself',
  }
}

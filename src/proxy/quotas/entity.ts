/**
 * The name under which the tokens of a client are counted. It is made from the client's request, and becomes a part of
 * row keys, log lines and command lines: it is short, and has no characters but `[A-Za-z0-9_.:@-]`.
 */
import { hash } from 'node:crypto'
import type { HeaderList } from '../../backends/backend.ts'
import { headerOf } from '../../core/headers.ts'
import { type Identity, identityOf, personalHeaders, userHeaders } from '../../engine/http/identity.ts'
import type { EntitySource } from './terms.ts'

export interface Requester {
  readonly headers: HeaderList
  /** Empty where it is not known. */
  readonly address: string
}

/** All clients without identification. */
const anonymous = 'anonymous'

/** Longer names are replaced by their hash. */
const maxLength = 128
const isPlain = (name: string): boolean =>
  name.length <= maxLength && /^[A-Za-z0-9][A-Za-z0-9_.:@-]*$/.test(name)

/** Values of these are credentials, or may contain some. */
const secretHeaders = new Set(
  ['cookie', 'proxy-authorization', ...personalHeaders].filter((name) => !userHeaders.includes(name)),
)

export function entityOf(source: EntitySource, { headers, address }: Requester, partition: Identity): string {
  if (source === 'address') return address === '' ? anonymous : addressOf(address)
  if (source === 'identity') {
    const identity = identityOf(headers, partition)
    return identity === '' ? anonymous : named(`id:${identity}`)
  }
  const value = headerOf(headers, source.header)
  if (value === undefined || value === '') return anonymous
  return secretHeaders.has(source.header) ? hashed(value) : named(value)
}

const named = (value: string): string => (isPlain(value) ? value : hashed(value))
const hashed = (value: string): string => `sha256:${hash('sha256', value, 'base64url')}`

/** An IPv4 address is the same client in its IPv6 form; names begin with a digit or a letter. */
function addressOf(address: string): string {
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice(7)
  const unscoped = address.split('%', 1)[0]!
  return unscoped.startsWith(':') ? `0${unscoped}` : unscoped
}

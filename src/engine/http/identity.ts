/**
 * The identity partition: the requests that may share answers. By default a hash of everything in a request that
 * identifies the client; a backend whose answers do not depend on it can be shared.
 */
import { hash } from 'node:crypto'
import type { HeaderList } from '../../backends/backend.ts'
import { headerMatcher, identityHeaders, longestName, tenantHeaders } from './identity-headers.ts'

/** Headers by which an authenticating proxy in front identifies the user. */
export const userHeaders: readonly string[] = [
  'x-grafana-user',
  'x-auth-request-user',
  'x-forwarded-user',
  'x-remote-user',
  'remote-user',
  'x-webauth-user',
]

/**
 * `separate`: requests with equal credentials, cookies and tenants share. `shared`: all do. `headers`: requests with
 * equal values of the given headers. `user`: requests to which a proxy in front gives the same user name, within a
 * tenant; without such a header, as `separate`.
 */
export type Identity = 'separate' | 'shared' | 'user' | { readonly headers: readonly string[] }

const saysWho = headerMatcher(identityHeaders)
const isUser = headerMatcher(userHeaders)
const isUserOrTenant = headerMatcher([...userHeaders, ...tenantHeaders])
const isNone = () => false

/**
 * '' for requests without any identification. Answers vary by Origin for every client (CORS). Where other headers count
 * than usual, identities are apart from the usual ones: several rules may lead to one shape, and an answer stored for
 * an anonymous client must not be found by every client.
 */
export function identityOf(headers: HeaderList, identity: Identity): string {
  const counts = countingHeaders(headers, identity)
  let text = ''
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    if (name === 'origin' || name.length > longestName || counts(name)) {
      text += `${name}:${headers[i + 1]!.length}:${headers[i + 1]!}\n`
    }
  }
  const way = counts === saysWho ? '' : wayOf(identity)
  if (text === '') return way
  return hash('sha256', way === '' ? text : `${way}\n${text}`, 'base64url')
}

const wayOf = (identity: Identity): string =>
  typeof identity === 'string' ? identity : `headers ${identity.headers.join()}`

function countingHeaders(headers: HeaderList, identity: Identity): (name: string) => boolean {
  if (identity === 'separate') return saysWho
  if (identity === 'shared') return isNone
  if (identity !== 'user') return (name) => identity.headers.includes(name)
  return headers.some((name, i) => i % 2 === 0 && name.length <= longestName && isUser(name))
    ? isUserOrTenant
    : saysWho
}

/** Whether requests with the same partition have equal values of a header, because it is part of the partition. */
export const isKeyed = (name: string, headers: HeaderList, identity: Identity): boolean =>
  name === 'origin' || name.length > longestName || countingHeaders(headers, identity)(name)

/** Each value of these names one account. A cookie need not: many clients can have the same. */
export const personalHeaders: readonly string[] = [
  ...userHeaders,
  'authorization',
  'x-grafana-id',
  'x-id-token',
  'x-access-token',
  'x-api-key',
  'x-auth-token',
  'x-auth-request-email',
  'x-forwarded-email',
  'x-forwarded-access-token',
]

const personal = new Set(personalHeaders)

/** Whether all requests of a partition come from one account: only they may share private answers. */
export function isPersonal(headers: HeaderList, identity: Identity): boolean {
  const counts = countingHeaders(headers, identity)
  return headers.some((name, i) => i % 2 === 0 && personal.has(name) && counts(name) && headers[i + 1] !== '')
}

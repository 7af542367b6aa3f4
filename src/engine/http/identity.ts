/**
 * The identity partition: who may share answers. By default a hash of everything in a request that says who is
 * asking; a backend whose answers do not depend on it can be shared.
 */
import { hash } from 'node:crypto'
import type { HeaderList } from '../../backends/backend.ts'
import { headerMatcher, identityHeaders, longestName, tenantHeaders } from './identity-headers.ts'

/** Headers by which an authenticating proxy in front says who is asking. */
export const userHeaders: readonly string[] = [
  'x-grafana-user',
  'x-auth-request-user',
  'x-forwarded-user',
  'x-remote-user',
  'remote-user',
  'x-webauth-user',
]

/**
 * `separate`: equal credentials, cookies and tenants share. `shared`: everybody does. `headers`: those who agree in the
 * given ones. `user`: those whom a proxy in front calls by the same name, within a tenant; without such a header, as
 * `separate`.
 */
export type Identity = 'separate' | 'shared' | 'user' | { readonly headers: readonly string[] }

const saysWho = headerMatcher(identityHeaders)
const isUser = headerMatcher(userHeaders)
const isUserOrTenant = headerMatcher([...userHeaders, ...tenantHeaders])
const isNone = () => false

/** '' for the requests that say nothing about who is asking. Answers vary by Origin whoever asks (CORS). */
export function identityOf(headers: HeaderList, identity: Identity): string {
  const counts = countingHeaders(headers, identity)
  let text = ''
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    if (name === 'origin' || name.length > longestName || counts(name)) {
      text += `${name}:${headers[i + 1]!.length}:${headers[i + 1]!}\n`
    }
  }
  return text === '' ? '' : hash('sha256', text, 'base64url')
}

function countingHeaders(headers: HeaderList, identity: Identity): (name: string) => boolean {
  if (identity === 'separate') return saysWho
  if (identity === 'shared') return isNone
  if (identity !== 'user') return (name) => identity.headers.includes(name)
  return headers.some((name, i) => i % 2 === 0 && name.length <= longestName && isUser(name))
    ? isUserOrTenant
    : saysWho
}

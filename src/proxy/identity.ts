/**
 * The identity partition: who may share answers. By default a hash of everything in a request that says who is
 * asking; a backend whose answers do not depend on it can be shared.
 */
import { hash } from 'node:crypto'
import type { HeaderList } from '../backends/backend.ts'

/** Documented in docs/reference/headers.md, which is checked against this list. */
export const identityHeaders: readonly string[] = [
  'authorization',
  'cookie',
  'x-scope-orgid',
  'thanos-tenant',
  'x-grafana-user',
  'x-grafana-id',
  'x-grafana-org-id',
  'x-id-token',
  'x-access-token',
  'x-api-key',
  'x-auth-token',
  'x-auth-request-user',
  'x-auth-request-email',
  'x-auth-request-groups',
  'x-forwarded-user',
  'x-forwarded-email',
  'x-forwarded-groups',
  'x-forwarded-access-token',
  'x-remote-user',
  'remote-user',
  'x-webauth-user',
  'x-prom-label-policy',
  'x-tenant',
  'x-tenant-id',
  'tenant',
  'accountid',
  'projectid',
]

export type IdentityMode = 'separate' | 'shared'

const listed = new Set(identityHeaders)

/** '' for the requests that say nothing about who is asking. Answers vary by Origin whoever asks (CORS). */
export function identityOf(headers: HeaderList, mode: IdentityMode): string {
  let text = ''
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    if (name === 'origin' || (mode === 'separate' && listed.has(name))) {
      text += `${name}:${headers[i + 1]!.length}:${headers[i + 1]!}\n`
    }
  }
  return text === '' ? '' : hash('sha256', text, 'base64url')
}

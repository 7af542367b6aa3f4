/**
 * The request headers that identify the client. `*` stands for any characters, `_` is read as `-`. The patterns are
 * wide on purpose: a header that is matched without need costs a hit, one that is missed shows one client another's
 * data. docs/reference/headers.md is generated from these lists.
 */
import { Memo } from '../../core/memo.ts'
import { type IsNamed, namedLike } from '../../core/name-pattern.ts'

/** The headers that select the data, for every client: a database that serves several tenants reads these. */
export const tenantHeaders: readonly string[] = [
  '*tenant*',
  '*orgid*',
  '*org-id*',
  '*account*',
  '*project*',
  'x-prom-label-policy',
]

/** Users, groups, credentials and client certificates, as clients, gateways and authenticating proxies send them. */
export const credentialHeaders: readonly string[] = [
  '*auth*',
  '*token*',
  '*jwt*',
  '*cookie*',
  '*session*',
  '*secret*',
  '*password*',
  '*credential*',
  '*api-key*',
  '*apikey*',
  '*user*',
  '*email*',
  '*groups',
  '*role*',
  '*identity*',
  '*principal*',
  '*oidc*',
  '*saml*',
  '*client-cert*',
  '*clientcert*',
  '*ssl-client*',
  '*tls-client*',
  '*-dn',
  '*consumer*',
  'impersonate-*',
  'remote-*',
  'x-remote-*',
  'x-goog-*',
  'cf-access-*',
  'x-pomerium-*',
  'x-vouch-*',
  'tailscale-*',
  'x-grafana-id',
]

export const identityHeaders: readonly string[] = [...tenantHeaders, ...credentialHeaders]

/** Matched by the patterns, although they do not identify the client. */
export const notIdentityHeaders: readonly string[] = [
  // Of programs, hosts and browser gestures.
  '*user-agent*',
  '*authority*',
  'sec-fetch-user',
  // The address of the client, which X-Forwarded-For has too.
  'remote-addr',
  'remote-host',
  'remote-ip',
  'remote-port',
  'x-remote-addr',
  'x-remote-host',
  'x-remote-ip',
  'x-remote-port',
  // Grafana sends it for dashboards but not for alert rules, and no database that is cached here reads it.
  'x-grafana-org-id',
]

/** More names than clients send; a client that makes them up cannot fill memory with them. */
const remembered = { maxTexts: 1_000, maxCharacters: 64 << 10 }

/** Whether a header, by its name in lower case, is one of `patterns`. Clients send the same few names again and again. */
export function headerMatcher(patterns: readonly string[]): IsNamed {
  const [isListed, isExcepted] = [namedLike(patterns), namedLike(notIdentityHeaders)]
  const known = new Memo(remembered, (text) => {
    const name = text.replaceAll('_', '-')
    return isListed(name) && !isExcepted(name)
  })
  return (name) => known.get(name)
}

/** Longer names than any of these are not looked at: such a header keeps its client apart. */
export const longestName = 128

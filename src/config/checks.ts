/** Rules that concern several keys. Each check reports the key at fault, as a sentence. */
import { isLocalAddress } from '../core/socket-address.ts'
import { kindOfStore } from '../stores/kinds.ts'
import type { Check, Report } from './definition.ts'
import { quotasFit } from './quotas-section.ts'
import type { BackendConfig, Config, MatcherConfig, RuleConfig } from './schema.ts'

const isSet = (value: unknown): boolean => value !== undefined

export const authIsOneKind: Check = {
  run(value: BackendConfig['auth'], report) {
    const { username, password, passwordFile, token, tokenFile } = value
    const hasPassword = isSet(password) || isSet(passwordFile)
    if (isSet(password) && isSet(passwordFile))
      report('passwordFile', 'is set as well as the password itself: set one of them')
    if (isSet(token) && isSet(tokenFile))
      report('tokenFile', 'is set as well as the token itself: set one of them')
    if ((isSet(token) || isSet(tokenFile)) && (isSet(username) || hasPassword)) {
      report(
        isSet(username) ? 'username' : 'passwordFile',
        'is for basic authentication, but there is a bearer token too: set one of them',
      )
    }
    if (isSet(username) && !hasPassword) report('username', 'needs "passwordFile"')
    if (hasPassword && !isSet(username))
      report(isSet(passwordFile) ? 'passwordFile' : 'password', 'needs "username"')
  },
}

interface Identified {
  readonly identity: string | undefined
  readonly identityHeaders: readonly string[]
}

export const headersAreListed: Check = {
  needs: ['identity', 'identityHeaders'],
  run({ identity, identityHeaders }: Identified, report) {
    if (identity === 'headers' && identityHeaders.length === 0)
      report('identity', 'needs "identityHeaders": the headers by which answers are kept apart')
    if (identity !== 'headers' && identityHeaders.length > 0)
      report('identityHeaders', 'has an effect only with "identity: headers"')
  },
}

export const socketHasOneUrl: Check = {
  needs: ['socket', 'url'],
  run({ socket, url }: BackendConfig, report) {
    if (isSet(socket) && url.length > 1) report('socket', 'can serve one URL only, and there are several')
  },
}

const conditionsIn = ({ equals, contains, regex }: MatcherConfig): number =>
  [equals, contains, regex].filter(isSet).length

export const matcherIsOne: Check = {
  run(value: MatcherConfig, report) {
    if (conditionsIn(value) > 1)
      report('', 'has several conditions: expected one of equals, contains and regex')
  },
}

export const headerIsNoCredential: Check = {
  needs: ['name'],
  run({ name }: { readonly name: string }, report) {
    if (['authorization', 'cookie', 'proxy-authorization'].includes(name.toLowerCase()))
      report(
        'name',
        `"${name}" carries credentials, which do not belong into a configuration: match another header`,
      )
  },
}

export const ruleDoesSomething: Check = {
  run(rule: RuleConfig, report) {
    const { backend, path, userAgent, query, headers } = rule.match
    const conditions = conditionsIn(path) + conditionsIn(userAgent) + conditionsIn(query) + headers.length
    if (!isSet(backend) && conditions === 0)
      report('match', 'has no condition: expected one of backend, path, userAgent, query and headers')
    if (
      !rule.bypass &&
      rule.objects &&
      ![rule.policy, rule.maxStaleMs, rule.identity, rule.mode, rule.edges, rule.align].some(isSet)
    ) {
      report(
        '',
        'changes nothing: expected one of policy, edges, align, maxStale, bypass, identity, mode and objects',
      )
    }
  },
}

export const headersHaveCollector: Check = {
  run({ endpoint, headersFile }: Config['telemetry']['traces'], report) {
    if (isSet(headersFile) && !isSet(endpoint)) report('headersFile', 'has an effect only with "endpoint"')
  },
}

/** The default of `admin.listen`. */
export const usualAdminAddress = '127.0.0.1:9192'

const isFree = (address: string): boolean => address.endsWith(':0')

/** Two backends behind one address are distinguished by host and path. */
function routesDiffer({ listen, backends }: Config, report: Report): void {
  const owners = new Map<string, string>()
  for (const [name, backend] of Object.entries(backends)) {
    const address = backend.listen ?? listen
    const place = `${address} ${backend.route.host?.toLowerCase() ?? '*'} ${backend.route.path ?? '/'}`
    const owner = isFree(address) && isSet(backend.listen) ? undefined : owners.get(place)
    owners.set(place, name)
    if (owner !== undefined) {
      const remedy = 'give one of them a "route" or a "listen" of its own'
      report(`backends.${name}`, `gets the same requests as backends.${owner}: ${remedy}`)
    }
  }
}

/** Other machines can reach the admin listener, and no token is required. */
const isOpenToOthers = ({ enabled, listen, token, tokenFile }: Config['admin']): boolean =>
  enabled && token === undefined && tokenFile === undefined && !isLocalAddress(listen)

/** A warning about a valid configuration; undefined where there is none. */
export const adminWarning = ({ admin }: Config): string | undefined =>
  isOpenToOthers(admin)
    ? `the admin listener on ${admin.listen} can be reached from other machines and requires no token: it shows the texts of queries, and a web page can read it through a user's browser`
    : undefined

function adminIsApart({ listen, backends, admin }: Config, report: Report): void {
  if (!admin.enabled) return
  const taken = [listen, ...Object.values(backends).map((backend) => backend.listen)]
  // The address that was set is at fault, not the default.
  if (admin.listen === usualAdminAddress && listen === admin.listen)
    report('listen', `${listen} is the address of the admin listener: choose another, or set admin.listen`)
  else if (!isFree(admin.listen) && taken.includes(admin.listen))
    report(
      'admin.listen',
      `${admin.listen} is an address of the proxy already: the admin listener is kept apart`,
    )
  if (admin.allowWrites && isOpenToOthers(admin)) {
    report(
      'admin.allowWrites',
      `would let every client that reaches ${admin.listen} purge: set "tokenFile" too`,
    )
  }
  if (admin.token !== undefined && admin.tokenFile !== undefined)
    report('admin.tokenFile', 'is set as well as the token itself: set one of them')
}

function storesFit({ stores }: Config, report: Report): void {
  const owners = new Map<string, string>()
  for (const [name, store] of Object.entries(stores)) {
    const found = kindOfStore(store).placeOf?.(store)
    if (found === undefined) continue
    const place = `${store.type} ${found.place}`
    const owner = owners.get(place)
    owners.set(place, name)
    if (owner !== undefined) report(`stores.${name}.${found.key}`, `is that of stores.${owner} already`)
  }
}

export const wholeConfigurationChecks: readonly Check[] = [
  { needs: ['listen', 'backends'], run: routesDiffer },
  { needs: ['listen', 'backends', 'admin'], run: adminIsApart },
  { needs: ['stores'], run: storesFit },
  { needs: ['quotas', 'backends', 'stores'], run: quotasFit },
]

/** Which requests of a common address are for which database. */
import type { ClientRequest } from '../front/exchange.ts'

export interface Route {
  /** The host name of the request, in lower case. */
  readonly host?: string | undefined
  /** The beginning of its path; it is taken off before the request is passed on. */
  readonly path?: string | undefined
}

/** The host and path of a request. */
export interface Destination {
  /** In lower case, without a port. */
  readonly host: string | undefined
  readonly target: string
}

/** A whole URL as the target has both, whatever the Host header is (RFC 9112 §3.2.2). */
export function destinationOf({ headers, url = '/' }: Pick<ClientRequest, 'headers' | 'url'>): Destination {
  const whole = wholeUrl(url)
  return whole === undefined
    ? { host: hostName(headers.host), target: url }
    : { host: hostName(whole.authority), target: whole.target }
}

/** Clients of a forward proxy send the whole URL. */
export function wholeUrl(
  target: string,
): { readonly authority: string; readonly target: string } | undefined {
  if (target.startsWith('/')) return undefined
  const match = /^https?:\/\/([^/?#]*)([^#]*)/i.exec(target)
  if (match === null) return undefined
  const [, authority = '', rest = ''] = match
  return { authority, target: rest.startsWith('/') ? rest : `/${rest}` }
}

export function isFor(route: Route, { host, target }: Destination): boolean {
  if (route.host !== undefined && host !== route.host) return false
  return route.path === undefined || isBelow(target, route.path)
}

/** How much a route claims: the narrower one goes first, and unclaimed requests go to the backend without a route. */
export function narrowness(route: Route | undefined): number {
  if (route === undefined) return 0
  return 1 + (route.path?.length ?? 0) + (route.host === undefined ? 0 : 10_000)
}

/** The target as the database will see it. */
export function withoutPrefix(route: Route | undefined, url: string): string {
  if (route?.path === undefined || route.path === '/') return url
  const rest = url.slice(route.path.replace(/\/$/, '').length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function isBelow(url: string, path: string): boolean {
  const prefix = path.replace(/\/$/, '')
  return url.startsWith(prefix) && /^(?:$|[/?])/.test(url.slice(prefix.length))
}

const hostName = (host: string | undefined): string | undefined =>
  host?.toLowerCase().replace(/^.*@/, '').replace(/:\d+$/, '')

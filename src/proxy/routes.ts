/** Which requests of a common address are for which database. */
import type { IncomingMessage } from 'node:http'

export interface Route {
  /** The host name of the request, in lower case. */
  readonly host?: string | undefined
  /** The beginning of its path; it is taken off before the request is passed on. */
  readonly path?: string | undefined
}

export function isFor({ host, path }: Route, { headers, url }: IncomingMessage): boolean {
  if (host !== undefined && hostName(headers.host) !== host) return false
  return path === undefined || isBelow(url ?? '/', path)
}

/** How much a route claims: the narrower one goes first, and what no route claims is for whoever has none. */
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

const hostName = (host: string | undefined): string | undefined => host?.toLowerCase().replace(/:\d+$/, '')

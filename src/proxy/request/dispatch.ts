/** Hands every request of an address to the database that it is for. */
import type { ClientRequest, Reply } from '../front/exchange.ts'
import type { Handler } from './handler.ts'
import { type Destination, destinationOf, isFor, type Route, withoutPrefix } from './routes.ts'

interface Claimant {
  /** Undefined: it takes requests that no other route claims. */
  readonly route?: Route | undefined
  readonly backendRuntime: { readonly handler: Handler }
}

/** `group`: the narrower claim first. */
export function answererOf(group: readonly Claimant[]): (request: ClientRequest, response: Reply) => void {
  const [first] = group
  // All that comes is for it, whatever host it names.
  if (first !== undefined && first.route === undefined) {
    const { handler } = first.backendRuntime
    return (request, response) => {
      if (request.url?.startsWith('/') !== true) request.url = destinationOf(request).target
      void handler.handle(request, response)
    }
  }
  return (request, response) => {
    const destination = destinationOf(request)
    const found = group.find(({ route }) => route === undefined || isFor(route, destination))
    if (found === undefined) {
      response.writeHead(404, plainText)
      response.end(Buffer.from(noDatabase(destination)))
    } else {
      request.url = withoutPrefix(found.route, destination.target)
      void found.backendRuntime.handler.handle(request, response)
    }
  }
}

const plainText = ['Content-Type', 'text/plain; charset=utf-8', 'X-Content-Type-Options', 'nosniff']

const noDatabase = ({ host = '', target }: Destination): string =>
  `windowpane: no backend is configured for ${harmless(host + target)}; see backends.*.route\n`

/**
 * Text of a client as it may be repeated to it: without the query, which may hold secrets, and without characters that mean
 * something to a browser or a terminal.
 */
const harmless = (text: string): string =>
  text
    .slice(0, maxRepeated)
    .replace(/\?.*$/s, '')
    .replaceAll(/[^\w./:~[\]-]/g, '_')

const maxRepeated = 200

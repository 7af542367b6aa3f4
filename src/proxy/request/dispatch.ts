/** Hands every request of an address to the database that it is for. */
import type { Asked, Reply } from '../front/exchange.ts'
import type { Handler } from './handler.ts'
import { destinationOf, isFor, type Route, withoutPrefix } from './routes.ts'

interface Claimant {
  /** Undefined: it takes what nobody else does. */
  readonly route?: Route | undefined
  readonly backendRuntime: { readonly handler: Handler }
}

/** `group`: the narrower claim first. */
export function answererOf(group: readonly Claimant[]): (request: Asked, response: Reply) => void {
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
      response.writeHead(404, [])
      response.end(Buffer.from(noDatabase(request)))
    } else {
      request.url = withoutPrefix(found.route, destination.target)
      void found.backendRuntime.handler.handle(request, response)
    }
  }
}

const noDatabase = ({ url, headers }: Asked): string =>
  `windowpane: no backend is configured for ${headers.host ?? ''}${url}; see backends.*.route\n`

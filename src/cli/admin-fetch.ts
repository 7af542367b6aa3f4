/** `fetch` for admin listeners: over TCP, or over a unix socket. */
import { socketPathOf } from '../core/socket-address.ts'

export interface AdminFetch {
  readonly method?: string
  readonly headers: Record<string, string>
  readonly signal: AbortSignal
  readonly redirect: 'error'
  readonly body?: string
}

/** `url`: `http://host:port`, perhaps with a path, or `unix:/path`. */
export async function fetchAdmin(url: string, path: string, init: AdminFetch): Promise<Response> {
  const socketPath = socketPathOf(url)
  if (socketPath === undefined) return fetch(`${url}${path}`, init)
  // Only here: commands that use TCP do not wait until the client is loaded.
  const { Agent, fetch: fetchWith } = await import('undici')
  const dispatcher = new Agent({ connect: { socketPath } })
  return (await fetchWith(`http://localhost${path}`, { ...init, dispatcher })) as unknown as Response
}

/** The messages between the processes and threads of the demo. */
import type { Visit } from './crowd.ts'
import type { Picture } from './tally.ts'

/** From the demo to the process of its database and viewers. */
export type ToWorld =
  /** Viewers start. If the demo ends without a message, the proxy is ended, too. */
  | { readonly kind: 'begin'; readonly proxyUrl: string; readonly proxyPid: number }
  | { readonly kind: 'picture' }
  | { readonly kind: 'end' }

/** From the viewers to the thread of the database. */
export type ToDatabase =
  /** The body is there where it is to be compared. */
  | { readonly kind: 'visited'; readonly visit: Visit; readonly isAudited: boolean }
  /** The database was queried without the proxy. */
  | { readonly kind: 'direct'; readonly tookMs: number }
  | { readonly kind: 'picture' }

/** From the thread of the database to the viewers, and from their process to the demo. */
export type FromDatabase =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'picture'; readonly picture: Picture }

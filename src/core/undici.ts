/**
 * Connection pools and requests of undici, loaded without the rest of the package: its main file also loads fetch, WebSocket,
 * caches and mocks, which take some 3 MB in every thread. The version of undici is pinned, so that these files are there.
 */
import { createRequire } from 'node:module'
import type { Dispatcher, Pool as UndiciPool } from 'undici'

const load = createRequire(import.meta.url)

export type Pool = UndiciPool
export const Pool = load('undici/lib/dispatcher/pool.js') as typeof UndiciPool

type Request = (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>
const requestOn = load('undici/lib/api/api-request.js') as Request

/** One request over a pool, to its origin. */
export const request = (pool: Pool, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> =>
  requestOn.call(pool, options)

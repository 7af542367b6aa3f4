/**
 * A process with an object cache on a shared store, for tests; its argument is the URL of the store. It executes its
 * messages (`Order`), replies to each, and reports the progress of its regenerations (`Progress`). See nodes.ts.
 */
import { hash } from 'node:crypto'
import { openStore } from '../../src/config/open-store.ts'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { type ObjectCacheOptions, objectCache } from '../../src/engine/objects/object-cache.ts'
import type {
  Invalidated,
  ObjectAnswer,
  ObjectCache,
  ObjectKey,
  ObjectState,
  ObjectTerms,
} from '../../src/engine/objects/objects.ts'
import type { Cells } from '../../src/stores/cells.ts'
import { HANG_MS } from '../wait.ts'
import { bodyOf } from './bodies.ts'

/** Where a regeneration waits for `resume`. While it does, it renews no lease: the node is as good as frozen. */
export type Hold = 'render' | 'commit'

export interface Get {
  readonly do: 'get'
  readonly key: ObjectKey
  readonly terms: ObjectTerms
  /** The result of a render; undefined where it fails. */
  readonly version?: string
  /** Of the body; by default as long as the name of the version. */
  readonly bytes?: number
  readonly hold?: Hold
  /** Gets with the same options share one cache. */
  readonly cache?: ObjectCacheOptions
}

export type Order =
  | Get
  | { readonly do: 'peek' | 'rollback'; readonly key: ObjectKey }
  | { readonly do: 'invalidate'; readonly what: Invalidated }
  | { readonly do: 'pass'; readonly seconds: number }
  | { readonly do: 'resume' }

export interface Answer {
  readonly state: ObjectState
  /** Of short ones only. */
  readonly text: string
  readonly sha256: string
  readonly failure?: string
}

/** `waiting`: the lease is held by another node. `committing`: the body is written, and META is about to be. */
export type Progress = 'rendering' | 'waiting' | 'committing'

export type Message =
  | { readonly progress: Progress }
  | { readonly id: number; readonly reply?: unknown; readonly error?: string }

const maxShownBytes = 100
let passedMs = 0
/** Time passes under the control of the test; timers run by the real clock. */
const clock: Clock = {
  ...systemClock,
  now: () => systemClock.now() + passedMs,
  elapsed: () => systemClock.elapsed() + passedMs,
}
let held: { readonly at: Hold; readonly until: Promise<void>; resume(): void } | undefined

const send = (message: Message): void => void process.send!(message)

async function reach(progress: Progress, hold: Hold): Promise<void> {
  send({ progress })
  if (held?.at === hold) await held.until
}

const store = await openStore(process.argv[2]!, { clock, timeoutMs: HANG_MS })
const cells = observed(store.cells!)
const caches = new Map<string, ObjectCache>()

function observed(inner: Cells): Cells {
  return {
    name: inner.name,
    capabilities: inner.capabilities,
    get: (id, v) => inner.get(id, v),
    list: (pk, v) => inner.list(pk, v),
    take: (id, take) => inner.take(id, take),
    remove: (id, condition) => inner.remove(id, condition),
    close: () => inner.close(),
    async put(id, draft, condition) {
      if (id.sk !== 'LOCK') return inner.put(id, draft, condition)
      if (condition.is === 'revision' && held !== undefined) throw new Error('frozen')
      const outcome = await inner.put(id, draft, condition)
      if (!outcome.ok && condition.is === 'expired') send({ progress: 'waiting' })
      return outcome
    },
    async publish(changes) {
      const isCommit = changes.some(({ id }) => id.sk === 'LOCK')
      if (isCommit) await reach('committing', 'commit')
      return inner.publish(changes)
    },
  }
}

/** No answer depends on how long operations take, nor, by default, on how long a lease lasts. */
const patient: ObjectCacheOptions = { timeoutSeconds: 'guarded', leaseSeconds: 600, waitSeconds: 900 }

function cacheWith(options: ObjectCacheOptions = {}): ObjectCache {
  const name = JSON.stringify(options)
  const cache = caches.get(name) ?? objectCache(cells, { clock, ...patient, ...options })
  caches.set(name, cache)
  return cache
}

async function get({ key, terms, version, bytes, hold, cache }: Get): Promise<Answer> {
  if (hold !== undefined && held === undefined) {
    const { promise: until, resolve: resume } = Promise.withResolvers<void>()
    held = { at: hold, until, resume }
  }
  const render = async (): Promise<Uint8Array> => {
    await reach('rendering', 'render')
    if (version === undefined) throw new Error('the render fails')
    return bodyOf(version, bytes)
  }
  return shown(await cacheWith(cache).get(key, render, terms))
}

const shown = ({ state, body, failure }: ObjectAnswer): Answer => ({
  state,
  text: body.byteLength > maxShownBytes ? '' : Buffer.from(body).toString(),
  sha256: hash('sha256', body),
  ...(failure === undefined ? {} : { failure: String(failure) }),
})

async function obey(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'get':
      return get(order)
    case 'peek': {
      const found = await cacheWith().peek(order.key)
      return found && shown(found)
    }
    case 'rollback':
      return cacheWith().rollback(order.key)
    case 'invalidate':
      return cacheWith().invalidate(order.what)
    case 'pass':
      passedMs += order.seconds * 1000
      return undefined
    case 'resume':
      held?.resume()
      held = undefined
      return undefined
  }
}

process.on('message', ({ id, order }: { id: number; order: Order }) => {
  obey(order).then(
    (reply) => send({ id, reply }),
    (error: unknown) => send({ id, error: String(error) }),
  )
})
process.once('disconnect', () => void store.close())
send({ id: 0 })

/**
 * The thread of the demo database: answers queries as late as evaluating them would take, counts them, and compares
 * responses with the truth.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { BoundedMap } from '../core/bounded-map.ts'
import { systemClock as clock, pause } from '../core/clock.ts'
import { bodyOf } from '../proxy/front/body.ts'
import { readTarget } from '../proxy/request/incoming.ts'
import { ladder } from '../ttl/ladder.ts'
import { Auditor } from './audit.ts'
import { DemoDatabase, type DemoQuery, requestIdHeader } from './database.ts'
import type { FromDatabase, ToDatabase } from './messages.ts'
import { Tally } from './tally.ts'

const maxRequestBytes = 1 << 20
/** Audits take milliseconds: the other panels of the same refresh go first. */
const afterwardsMs = 250

const { seed } = workerData as { readonly seed: number }
const database = new DemoDatabase({ clock, seed })
/** The query to the database on behalf of each request. */
const fetches = new BoundedMap<string, DemoQuery>({ maxEntries: 1000 })
/** Counts from the first message on, when the viewers begin. */
let begun: Tally | undefined
// The policy of a proxy without a configuration.
const auditor = new Auditor(database, ladder())
const send = (message: FromDatabase): void => parentPort!.postMessage(message)

parentPort!.on('message', (message: ToDatabase) => {
  begun ??= new Tally(clock, database.load)
  const tally = begun
  if (message.kind === 'direct') tally.askedDirectly(message.tookMs)
  else if (message.kind === 'picture') send({ kind: 'picture', picture: tally.picture() })
  else {
    const { visit, isAudited } = message
    tally.visited(visit, fetches.get(visit.id))
    fetches.delete(visit.id)
    if (isAudited) clock.after(afterwardsMs, () => tally.audited(auditor.judge(visit)))
  }
})

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = readTarget(request)
  const body = await bodyOf(request, maxRequestBytes)
  if (target === undefined || typeof body === 'string') return void response.destroy()
  const answer = database.answer({ ...target, body })
  const id = request.headers[requestIdHeader]
  if (typeof id === 'string' && answer.question !== undefined) fetches.set(id, answer.question)
  if (answer.costMs > 0) await pause(clock, answer.costMs)
  response.writeHead(answer.status, {
    'Content-Type': answer.status === 404 ? 'text/plain; charset=utf-8' : 'application/json',
    Vary: 'Accept-Encoding, Origin',
  })
  response.end(answer.body)
}

const server = createServer((request, response) => void respond(request, response))
await once(server.listen(0, '127.0.0.1'), 'listening')
send({ kind: 'listening', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })

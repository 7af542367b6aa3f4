/**
 * The process of the demo's database and viewers: the database in a thread of its own, so that its work does not show in the
 * latencies that the viewers measure.
 */
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Pool } from 'undici'
import { systemClock as clock } from '../core/clock.ts'
import { Crowd, formOf, type Visit } from './crowd.ts'
import { type DemoQuery, probeHeader } from './database.ts'
import type { FromDatabase, ToDatabase, ToWorld } from './messages.ts'

const auditedShare = 0.25
const probedShare = 0.05
/** The other panels of the same refresh go first. */
const afterwardsMs = 250

const seed = Number(process.argv[2] ?? 1)
const threadFile = join(import.meta.dirname, `database-thread${extname(import.meta.filename)}`)
const database = new Worker(threadFile, { workerData: { seed } })
const post = (message: ToDatabase): void => database.postMessage(message)

let databaseUrl = ''
let proxyPid: number | undefined
let crowd: Crowd | undefined

database.on('message', (message: FromDatabase) => {
  if (message.kind === 'listening') databaseUrl = message.url
  process.send!(message)
})

process.on('message', (message: ToWorld) => {
  if (message.kind === 'picture') post(message)
  else if (message.kind === 'end') process.exit(0)
  else begin(message.proxyUrl, message.proxyPid)
})

// Ctrl-C reaches all processes of a terminal: viewers stop, and the demo ends this process when it has the last
// picture.
process.on('SIGINT', () => void crowd?.stop())
process.on('SIGTERM', () => void crowd?.stop())
process.on('disconnect', () => {
  if (proxyPid !== undefined) process.kill(proxyPid, 'SIGTERM')
  process.exit(0)
})

function begin(proxyUrl: string, pid: number): void {
  proxyPid = pid
  const direct = new Pool(databaseUrl)
  const visited = (visit: Visit): void => {
    const isAudited = visit.status === 200 && clock.random() < auditedShare
    post({ kind: 'visited', visit: isAudited ? visit : { ...visit, body: '' }, isAudited })
    if (clock.random() < probedShare) clock.after(afterwardsMs, () => void probe(direct, visit.question))
  }
  crowd = new Crowd({ clock, url: proxyUrl, seed, visited })
}

/** Queries the database itself, as a viewer without Windowpane would. */
async function probe(direct: Pool, question: DemoQuery): Promise<void> {
  const started = clock.elapsed()
  const path = `/api/v1/query_range?${formOf(question)}`
  const headers = { [probeHeader]: '1' }
  const answer = await direct.request({ method: 'GET', path, headers }).catch(() => undefined)
  const tookMs = clock.elapsed() - started
  const text = await answer?.body.text().catch(() => undefined)
  if (text !== undefined) post({ kind: 'direct', tookMs })
}

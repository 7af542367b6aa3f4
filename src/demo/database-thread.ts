/** The thread of the demo database: answers and counts queries, and compares responses with the truth. */
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock as clock } from '../core/clock.ts'
import { ladder } from '../ttl/ladder.ts'
import { Auditor } from './audit.ts'
import { DemoDatabase } from './database.ts'
import { serveDemoDatabase } from './database-server.ts'
import type { FromDatabase, ToDatabase } from './messages.ts'
import { Tally } from './tally.ts'

/** Audits take milliseconds: the other panels of the same refresh go first. */
const afterwardsMs = 250

const { seed } = workerData as { readonly seed: number }
const database = new DemoDatabase({ clock, seed })
const server = await serveDemoDatabase(database)
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
    tally.visited(visit, server.fetchFor(visit.id))
    if (isAudited) clock.after(afterwardsMs, () => tally.audited(auditor.judge(visit)))
  }
})
send({ kind: 'listening', url: server.url })

/**
 * `npm run test:clients`: a real Superset, Turnilo's plywood and pydruid send their own queries to a real Druid,
 * directly and through Windowpane. Every answer must be the same, and most of their queries in time buckets must come
 * from the cache when they are repeated.
 *
 * `-- --write` keeps their requests for the tests of every run (test/druid/clients); `-- --outcomes` only repeats the
 * kept ones, and keeps their outcomes.
 */
import { writeFile } from 'node:fs/promises'
import { captured, clientNames, fileOf, readForms } from '../druid/clients/forms.ts'
import { replay } from '../druid/clients/replay.ts'
import { startUnderTest } from '../druid/differential/under-test.ts'
import { startDruidFixture } from '../druid/fixture.ts'
import { type Relay, startRelay } from '../druid/relay.ts'
import { isUnavailable } from '../servers/availability.ts'
import { type DruidClient, listen, type Subject } from './client.ts'
import { installClients } from './install.ts'
import { pydruid } from './pydruid/client.ts'
import { superset } from './superset/client.ts'
import { turnilo } from './turnilo/client.ts'
import { Verdict } from './verdict.ts'

const subject: Subject = {
  dataSource: 'wiki',
  from: new Date(captured.from),
  to: new Date(captured.to),
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)

async function main(options: ReadonlySet<string>): Promise<number> {
  const endings: (() => unknown)[] = []
  const cleanup = { after: (ending: () => unknown) => void endings.unshift(ending) }
  try {
    const druid = await startDruidFixture()
    if (isUnavailable(druid)) return failed(druid.unavailable)
    cleanup.after(() => druid.stop())
    if (options.has('--outcomes')) return await keepOutcomes(druid.brokerUrl)
    const installed = await installClients()
    if (isUnavailable(installed)) return failed(installed.unavailable)
    const proxy = await startUnderTest(druid.brokerUrl)
    cleanup.after(() => proxy.close())
    const direct = await startRelay(cleanup, druid.brokerUrl)
    const through = await startRelay(cleanup, proxy.url)
    const clients: readonly DruidClient[] = [
      turnilo(installed.load, subject),
      pydruid(installed.python, subject),
      await superset(installed.python, subject),
    ]
    for (const client of clients) cleanup.after(() => client.stop())
    let problems = 0
    for (const client of clients) problems += await judge(client, { direct, through }, options)
    return problems === 0 ? 0 : 1
  } finally {
    for (const ending of endings) await ending()
  }
}

/** Lets a client query Druid once and Windowpane twice; returns the number of faults. */
async function judge(
  client: DruidClient,
  { direct, through }: Readonly<Record<'direct' | 'through', Relay>>,
  options: ReadonlySet<string>,
): Promise<number> {
  const own = await listen(client, direct)
  const first = await listen(client, through)
  const verdict = new Verdict(client.name, { own, first, again: await listen(client, through) })
  say(verdict.table())
  if (options.has('--write')) await writeForms(client.name, verdict.forms)
  const found = options.has('--write') ? verdict.differences : verdict.problems(readForms(client.name))
  for (const problem of found) say(`WRONG: ${problem}`)
  return found.length
}

async function keepOutcomes(druidUrl: string): Promise<number> {
  for (const client of clientNames) {
    const replayed = await replay(druidUrl, readForms(client))
    for (const difference of replayed.flatMap(({ differences }) => differences)) say(difference)
    await writeForms(
      client,
      replayed.map(({ form, again }) => ({ ...form, again })),
    )
  }
  return 0
}

const writeForms = (client: (typeof clientNames)[number], forms: readonly object[]): Promise<void> =>
  writeFile(fileOf(client), `${JSON.stringify(forms, null, 2)}\n`)

function failed(why: string): number {
  process.stderr.write(`${why}\n`)
  return 1
}

process.exitCode = await main(new Set(process.argv.slice(2)))

/** Every command that the guides to Druid and to its clients show is run in front of a real one. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test, { type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { adminAddress, readyAddress, runToEnd, startCommand } from '../cli/child.ts'
import { requireServer } from '../data/fixture.ts'
import { druidClientsPage, druidPage, shownCommands, wordsOf } from '../docs/commands.ts'
import { startDruidFixture } from './fixture.ts'

const run = promisify(execFile)

/** The addresses on the page, and the addresses here. */
interface Places {
  readonly proxy: string
  readonly admin: string
  readonly druid: string
}

const shownDruid = 'http://127.0.0.1:8888'

async function start(t: TestContext, druid: string): Promise<Places> {
  const flags = ['--listen=127.0.0.1:0', '--admin.listen=127.0.0.1:0', '--telemetry.log-level=silent']
  const child = startCommand(t, [druid, ...flags])
  const proxy = await readyAddress(child)
  const admin = await adminAddress(child)
  await child.says(/→ http:\S+ \(Druid \d+\.\d+\.\d+; caching is on\)\n.*the Druid data source/)
  await child.says(/SQLAlchemy URI of the database to druid:\/\/127\.0\.0\.1:\d+\/druid\/v2\/sql\/\n/)
  return { proxy, druid, admin }
}

/** According to the page, the first answer is a miss, the second a hit. */
async function askTwice(command: string, { proxy }: Places): Promise<void> {
  const line = command.replace('http://127.0.0.1:9191', proxy)
  const [first, second] = [await run('sh', ['-c', line]), await run('sh', ['-c', line])]
  assert.match(first.stdout, /detail="miss\/absent asked=48 buckets=48"/)
  assert.match(second.stdout, /detail="hit buckets=48"/)
}

/** The outcome of each, according to the pages. */
const outcomes = new Map([
  ['explain --data', /^Miss: no bucket of 24 is fresh/],
  ['explain SELECT FLOOR', /^Miss: no bucket of 24 is fresh/],
  ['explain SELECT', /^Miss: no answer of totals is stored/],
  ['top', / timeseries wiki: added\n/],
  ['doctor', /\nok +SQL main +SQL answers/],
  ['purge', /^Selected: 48 buckets of 2 shapes/],
])

async function operate(t: TestContext, command: string, { admin, druid }: Places): Promise<void> {
  const [, ...argv] = wordsOf(command.replace(shownDruid, druid))
  const { code, out, err } = await runToEnd(t, [...argv, '--admin', admin])
  assert.equal(code, 0, out + err)
  const known = [...outcomes].find(([beginning]) => argv.join(' ').startsWith(beginning))
  assert.match(out, known?.[1] ?? assert.fail(`nothing is known about ${command}`))
}

test('every command of the guide to Druid works', async (whole) => {
  const druid = requireServer(whole, await startDruidFixture())
  if (druid === null) return
  whole.after(() => druid.stop())
  const places = await start(whole, druid.routerUrl)
  for (const { command } of await shownCommands([druidPage, druidClientsPage])) {
    await whole.test(command.slice(0, 100), async (t) => {
      // Started above, on other addresses.
      if (command.startsWith(`npm run -s windowpane -- ${shownDruid}`)) return
      if (command.startsWith('curl ')) await askTwice(command, places)
      else if (command.startsWith('windowpane ')) await operate(t, command, places)
      else assert.fail(`no test runs: ${command}`)
    })
  }
})

/** `panes.mdb` is cut short by another program while a process has it mapped. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { ask, askPlainly, outcomeOf } from '../proxy/client.ts'
import { matrixFor, rangePath } from '../proxy/matrix.ts'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { scratchDirectory, scratchStore } from '../stores/scratch.ts'
import { eventually, HANG_MS } from '../wait.ts'
import { type RunningWorkers, startWorkers } from '../workers/running-workers.ts'

const child = fileURLToPath(import.meta.resolve('./cut-store-child.ts'))

interface Told {
  readonly before: number
  readonly after: number
  readonly isWritten: boolean
  readonly health: { readonly state: string; readonly trouble?: string }
}

for (const bytes of [0, 4096, 16_384]) {
  test(`cut to ${bytes} bytes: the store is damaged, its process goes on, and the next one begins anew`, async () => {
    const directory = scratchDirectory()
    const { stdout, stderr, signal, status } = spawnSync(process.execPath, [child, directory, `${bytes}`], {
      timeout: HANG_MS,
    })
    assert.deepEqual([signal, status], [null, 0], stderr.toString())
    const { before, after, isWritten, health } = JSON.parse(stdout.toString()) as Told
    assert.deepEqual([before, after, isWritten], [9000, 0, false])
    assert.deepEqual([health.state, health.trouble], ['degraded', 'damaged'])
    const next = await scratchStore({ clock: fakeClock(), directory })
    assert.equal(next.health.state, 'ok')
    assert.ok(next.health.setAside !== undefined)
    await next.close()
  })
}

const start = Date.UTC(2026, 0, 1)
const panels = 8
const pathOf = (panel: number): string =>
  rangePath({ query: `panel${panel}`, start, end: start + 600 * 60_000 })
const truth = (path: string): string => matrixFor(new URLSearchParams(path.slice(path.indexOf('?'))), 1)

async function askAll({ url }: RunningWorkers): Promise<void> {
  for (let panel = 0; panel < panels; panel++) {
    const path = pathOf(panel)
    assert.equal((await ask(url, path)).body.toString(), truth(path))
  }
}

test('two workers continue from memory and database, and report that the store is damaged', async (t) => {
  const upstream = await startScriptedUpstream(t)
  const directory = scratchDirectory()
  const flags = [
    ...['--stores.disk.type=lmdb', `--stores.disk.path=${directory}`, '--stores.disk.reserve=1MiB'],
    ...['--backends.main.store=disk', '--telemetry.log-level=silent'],
  ]
  const running = await startWorkers(t, { upstream, flags })
  const metrics = async () => (await askPlainly(running.admin, '/-/metrics')).body.toString()
  for (let round = 0; round < 3; round++) await askAll(running)
  const isStored = new RegExp(`^windowpane_store_entries\\{store="disk"\\} ${panels}$`, 'm')
  await eventually(metrics, (text) => isStored.test(text))
  const file = join(directory, 'panes.mdb')
  truncateSync(file, Math.floor(statSync(file).size / 8192) * 4096)
  await askAll(running)
  assert.match(await metrics(), /^windowpane_store_degraded\{store="disk"\} 1$/m)
  await askAll(running)
  running.child.process.kill('SIGTERM')
  assert.equal(await running.child.exit, 0)
  const next = await startWorkers(t, { upstream, flags })
  await askAll(next)
  assert.equal(outcomeOf(await ask(next.url, pathOf(0))), 'hit')
})

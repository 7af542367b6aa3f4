import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isUnavailable, skipReason } from './availability.ts'
import { findProgram } from './debian.ts'

/** Sets a variable for one test; the loop of node:test runs the tests of a file one after the other. */
function setVariable(t: TestContext, name: string, value: string | undefined): void {
  const before = process.env[name]
  const set = (to: string | undefined) => {
    if (to === undefined) delete process.env[name]
    else process.env[name] = to
  }
  set(value)
  t.after(() => set(before))
}

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-debian-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

test("the user's own program is taken as it is", async (t) => {
  setVariable(t, 'WINDOWPANE_VICTORIA_METRICS_BIN', process.execPath)
  const found = await findProgram({ package: 'victoria-metrics' })
  assert.deepEqual(found, { path: process.execPath, version: 'own' })
})

test("the user's own program that is not there is said so", async (t) => {
  setVariable(t, 'WINDOWPANE_WRK_BIN', join(await emptyFolder(t), 'wrk'))
  const found = await findProgram({ package: 'wrk' })
  assert.ok(isUnavailable(found))
  assert.match(found.unavailable, /^WINDOWPANE_WRK_BIN: no file /)
})

test('a system without apt-get has a reason instead of a program', async (t) => {
  const folder = await emptyFolder(t)
  setVariable(t, 'WINDOWPANE_TEST_CACHE', folder)
  setVariable(t, 'PATH', folder)
  const found = await findProgram({ package: 'wrk' })
  assert.ok(isUnavailable(found))
  assert.match(found.unavailable, /no apt-get|no Debian mirror/)
  assert.match(found.unavailable, /WINDOWPANE_WRK_BIN/)
})

test('a missing server is a reason to skip, and a failure under CI', (t) => {
  setVariable(t, 'CI', undefined)
  assert.equal(skipReason({ unavailable: 'no network' }), 'no network')
  assert.equal(skipReason({ url: 'http://127.0.0.1:9090' }), false)
  setVariable(t, 'CI', 'true')
  assert.throws(() => skipReason({ unavailable: 'no network' }), /no network/)
})

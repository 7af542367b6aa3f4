import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { requireServer } from '../../data/fixture.ts'
import { isUnavailable } from '../availability.ts'
import { installDruid } from './install.ts'

test('the JVM ends with its standard input and takes its folder along', async (t) => {
  const installation = requireServer(t, await installDruid())
  if (installation === null) return
  const { jars, classes } = installation
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-leash-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'deep'))
  await writeFile(join(folder, 'deep', 'segment'), '')
  const child = spawn('java', ['-cp', classes, 'OneJvm', folder, jars, classes], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  assert.equal(line, 'ready')
  child.stdin.end()
  const [code] = await once(child, 'close')
  assert.equal(code, 0)
  assert.equal(existsSync(folder), false)
})

test('a machine without Java gets the name of the package to install', async (t) => {
  const path = process.env['PATH']
  t.after(() => {
    process.env['PATH'] = path
  })
  process.env['PATH'] = ''
  const outcome = await installDruid()
  assert.ok(isUnavailable(outcome))
  assert.match(
    outcome.unavailable,
    /needs java, which this system has not; install a JDK 17 or later and Maven/,
  )
})

/** The tests of the proxy once more, without anything that relies on internals of Node and V8 (section `runtime`). */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { switchedOff } from './setup.ts'

/** They set the switches themselves, or start a process. */
const others = ['shortcut.test.ts', 'shortcut-ends.test.ts', 'cli.test.ts', 'switched-off.test.ts']

test('everything about the proxy holds with all switches off', async () => {
  const files = globSync('*.test.ts', { cwd: import.meta.dirname }).filter((file) => !others.includes(file))
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(process.execPath, ['--test', '--test-concurrency=1', '--test-reporter=dot', ...files], {
    cwd: import.meta.dirname,
    env: { ...env, [switchedOff]: 'true' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = new Promise((resolve) => child.once('close', resolve))
  const said = await text(child.stdout)
  assert.equal(await closed, 0, said)
})

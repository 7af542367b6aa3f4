/** The tests of the proxy once more for each piece that relies on internals of Node and V8 (section `runtime`), without it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { RuntimeSwitches } from '../../src/core/runtime.ts'
import { switchedOff } from './setup.ts'

/** Each by itself, and all of them, with those of the garbage collector, which change no response. */
const switches: readonly (keyof RuntimeSwitches | 'all')[] = ['shortcut', 'pushedBodies', 'writeQueue', 'all']

/** They set the switches themselves, or start a process. */
const others = ['shortcut.test.ts', 'shortcut-ends.test.ts', 'cli.test.ts', 'switched-off.test.ts']
const files = globSync('*.test.ts', { cwd: import.meta.dirname }).filter((file) => !others.includes(file))

for (const off of switches) {
  test(`everything about the proxy holds with runtime.${off} off`, async () => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const args = ['--test', '--test-concurrency=1', '--test-reporter=dot', ...files]
    const child = spawn(process.execPath, args, {
      cwd: import.meta.dirname,
      env: { ...env, [switchedOff]: off },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const closed = new Promise((resolve) => child.once('close', resolve))
    const said = await text(child.stdout)
    assert.equal(await closed, 0, said)
  })
}

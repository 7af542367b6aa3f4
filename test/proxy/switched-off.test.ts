/** The tests of the proxy once more for each piece that relies on internals of Node and V8 (section `runtime`), without it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { allOff } from '../../src/core/runtime.ts'
import { switchedOff } from './setup.ts'

/** Each by itself, and all of them, with those of the garbage collector. */
const ofRequests = ['shortcut', 'pushedBodies', 'writeQueue', 'all']
/** They change no response, and one of them only the start of a process: the tests that start one are enough. */
const ofProcesses = {
  gcTuning: 'WINDOWPANE_RUNTIME_GC_TUNING',
  gcOnDemand: 'WINDOWPANE_RUNTIME_GC_ON_DEMAND',
}

/** They set the switches themselves, or start a process. */
const others = ['shortcut.test.ts', 'shortcut-ends.test.ts', 'cli.test.ts', 'switched-off.test.ts']
const files = globSync('*.test.ts', { cwd: import.meta.dirname }).filter((file) => !others.includes(file))

async function passes(env: Readonly<Record<string, string>>, named: readonly string[]): Promise<void> {
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const args = ['--test', '--test-concurrency=1', '--test-reporter=dot', ...named]
  const child = spawn(process.execPath, args, {
    cwd: import.meta.dirname,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = new Promise((resolve) => child.once('close', resolve))
  const said = await text(child.stdout)
  assert.equal(await closed, 0, said)
}

for (const off of ofRequests) {
  test(`everything about the proxy holds with runtime.${off} off`, () =>
    passes({ [switchedOff]: off }, files))
}

for (const [off, variable] of Object.entries(ofProcesses)) {
  test(`the command and its workers do the same with runtime.${off} off`, () =>
    passes({ [variable]: 'false' }, ['cli.test.ts', '../workers/nodes.test.ts']))
}

test('each switch has a run', () => {
  assert.deepEqual(
    new Set([...ofRequests, ...Object.keys(ofProcesses)]),
    new Set([...Object.keys(allOff), 'all']),
  )
})

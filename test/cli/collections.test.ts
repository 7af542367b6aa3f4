/** The threads that help collecting garbage give way to those that answer. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import test from 'node:test'
import { startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { readyAddress, startCommand } from './child.ts'

const skip = existsSync('/proc/self/task') ? false : 'this system does not tell of threads'

test('collecting has a low priority, answering has not', { skip }, async (t) => {
  const upstream = await startScriptedUpstream(t)
  const child = startCommand(t, [upstream.url, '--listen=127.0.0.1:0', '--admin.enabled=false'])
  await readyAddress(child)
  const tasks = `/proc/${child.process.pid}/task`
  const priorities = Map.groupBy(readdirSync(tasks), (thread) =>
    readFileSync(`${tasks}/${thread}/comm`, 'utf8').trim(),
  )
  const of = (name: string) =>
    new Set((priorities.get(name) ?? []).map((thread) => getPriority(Number(thread))))
  assert.deepEqual(of('V8Worker'), new Set([19]))
  assert.equal(getPriority(child.process.pid), getPriority())
})

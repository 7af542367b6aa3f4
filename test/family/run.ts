/**
 * `npm run test:family`, or `npm run test:family -- m3 …` for some: the same answer from real servers of PromQL's family and through
 * the Windowpane in front of them. Servers are built from their Go modules once (a quarter of an hour each; needs Go).
 */
import { spawn } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

const folder = join(import.meta.dirname, 'suites')
const wanted = process.argv.slice(2)
const all = (await readdir(folder)).map((file) => file.replace(/\.ts$/, ''))
const unknown = wanted.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`no suite ${unknown.join(', ')}: there are ${all.join(', ')}\n`)
  process.exit(1)
}
const files = (wanted.length > 0 ? wanted : all).map((name) => join(folder, `${name}.ts`))
// One after the other: their ports are fixed, and they take much memory.
const child = spawn(process.execPath, ['--test', '--test-concurrency=1', ...files], { stdio: 'inherit' })
child.on('exit', (code) => process.exit(code ?? 1))

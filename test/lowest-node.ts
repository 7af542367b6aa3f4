/**
 * The tests of the proxy on the lowest version of Node that package.json names: `npm run test:lowest`. Full test runs
 * end with it. npm brings that Node, from the network the first time. Where it cannot, that is reported; under CI=true
 * it fails the run.
 */
import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root, testFiles } from './selection.ts'

/** They repeat others with other settings, need a server, or are about memory and CPU time rather than about Node. */
const others = ['switched-off', 'prometheus', 'pieces', 'memory']

/** Tests that move so many bytes that they would take most of the time. */
const large = '/slow readers of|150 MB/'

function lowestVersion(): string {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly engines: { readonly node: string }
  }
  return engines.node.replace(/^>=/, '')
}

/** The path of that Node's program, or why there is none. */
async function find(version: string): Promise<string | { readonly missing: string }> {
  const args = ['exec', '--yes', `--package=node@${version}`, '--', 'node', '-p', 'process.execPath']
  try {
    const { stdout } = await promisify(execFile)('npm', args, { cwd: root })
    return stdout.trim()
  } catch (error) {
    return { missing: String(error) }
  }
}

async function main(): Promise<number> {
  const version = lowestVersion()
  const node = await find(version)
  if (typeof node !== 'string') {
    process.stderr.write(`no Node ${version}: ${node.missing}\n`)
    return process.env['CI'] === 'true' ? 1 : 0
  }
  const files = testFiles().filter(
    (file) =>
      file === 'src/core/runtime.test.ts' ||
      file === 'src/proxy/front/connections.test.ts' ||
      (file.startsWith('test/proxy/') && !others.some((name) => file.includes(`/${name}.test.ts`))),
  )
  process.stderr.write(`the proxy on Node ${version}\n`)
  const options = ['--test', '--test-concurrency=2', '--test-reporter=dot', `--test-skip-pattern=${large}`]
  const child = spawn(node, [...options, ...files], { stdio: 'inherit', cwd: root })
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}

process.exitCode = await main()

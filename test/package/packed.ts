/** The package as it is published: packed, unpacked, and installed in a folder that knows nothing of this checkout. */
import { type ExecFileException, execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { HANG_MS } from '../wait.ts'

export const root = join(import.meta.dirname, '../..')

export interface PackedFile {
  readonly path: string
  readonly size: number
  readonly mode: number
}

export interface Manifest {
  readonly version: string
  readonly engines: { readonly node: string }
  readonly bin: { readonly windowpane: string }
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
}

export interface Package {
  /** The package in the folder it was installed in, and that folder. */
  readonly home: string
  readonly app: string
  readonly files: readonly PackedFile[]
  /** Bytes of the tarball. */
  readonly packedBytes: number
  readonly manifest: Manifest
  /** The text of a file of the package. */
  text(path: string): Promise<string>
  remove(): Promise<void>
}

export async function installPackage(): Promise<Package> {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-package-'))
  const app = join(folder, 'app')
  await mkdir(app)
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root })
  if (packed.code !== 0) throw new Error(`npm pack failed: ${packed.err}`)
  const { filename, size, files } = packReport(packed.out)
  await writeFile(join(app, 'package.json'), '{ "name": "app", "private": true, "type": "module" }')
  const flags = ['--prefer-offline', '--no-audit', '--no-fund']
  const installed = await run('npm', ['install', join(folder, filename), ...flags], { cwd: app })
  if (installed.code !== 0) throw new Error(`npm install failed: ${installed.err}`)
  await mkdir(join(app, 'node_modules/@types'))
  await symlink(join(root, 'node_modules/@types/node'), join(app, 'node_modules/@types/node'))
  const home = join(app, 'node_modules/windowpane')
  const text = (path: string) => readFile(join(home, path), 'utf8')
  return {
    home,
    app,
    files,
    packedBytes: size,
    manifest: JSON.parse(await text('package.json')) as Manifest,
    text,
    remove: () => rm(folder, { recursive: true }),
  }
}

interface PackReport {
  readonly filename: string
  readonly size: number
  readonly files: readonly PackedFile[]
}

/** Some versions of npm give a list of packages, others an object with their names. */
function packReport(out: string): PackReport {
  const [report] = Object.values(JSON.parse(out) as Record<string, PackReport>)
  return report!
}

export interface Ran {
  readonly code: number | string
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly cwd: string
  /** Besides the common variables. */
  readonly env?: NodeJS.ProcessEnv
}

/** Runs a program with the Node of this test first in PATH; one that takes too long is ended. */
export function run(program: string, args: readonly string[], { cwd, env }: RunOptions): Promise<Ran> {
  return new Promise((resolve) => {
    const done = (error: ExecFileException | null, out: string, err: string) =>
      resolve({ code: error === null ? 0 : (error.code ?? error.signal ?? 'unknown'), out, err })
    const options = { cwd, env: { ...environment, ...env }, timeout: HANG_MS, maxBuffer: 16 * 1024 * 1024 }
    execFile(program, [...args], options, done)
  })
}

export const environment: NodeJS.ProcessEnv = {
  ...process.env,
  // Otherwise a test runner among them would take itself for a part of this test.
  NODE_TEST_CONTEXT: undefined,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
}

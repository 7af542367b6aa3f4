/**
 * Programs built from Go modules, for versions that no package has yet: slow (minutes), so only the long run uses it.
 * The module is copied, because some modules (Prometheus') may not be installed by name, and built without cgo.
 */
import { execFile } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import type { Unavailable } from './availability.ts'
import { cacheFolder, onceFolder } from './cache.ts'
import type { Program } from './debian.ts'

const run = promisify(execFile)

export interface GoProgram {
  readonly module: string
  readonly version: string
  /** Inside the module, such as ./cmd/prometheus. */
  readonly package: string
  readonly release: string
  /**
   * The Go variable with the release of the program. A plain build has none, and Windowpane caches only known releases.
   */
  readonly releaseVariable?: string
  /** Build tags, such as slicelabels. */
  readonly tags?: string
  /** More flags of the linker. */
  readonly linkerFlags?: string
  /** The name in the cache folder, where the package's folder is no help (M3's is called main). */
  readonly name?: string
}

/** A PromQL newer than the packaged server's: duration expressions by default, fill, new functions. */
export const newPrometheus: GoProgram = {
  module: 'github.com/prometheus/prometheus',
  version: 'v0.314.0',
  package: './cmd/prometheus',
  release: '3.14.0',
  releaseVariable: 'github.com/prometheus/common/version.Version',
}

/** Returns where the program is, building it when this machine has not got it yet. */
export async function buildProgram(source: GoProgram): Promise<Program | Unavailable> {
  const name = programName(source)
  const folder = join(cacheFolder(), `go-${name}-${source.release}`)
  try {
    await onceFolder(folder, (target) => buildInto(target, source))
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
    const why = code === 'ENOENT' ? 'this system has no go' : (stderr?.trim() || message).split('\n').at(-1)
    return { unavailable: `${source.module}@${source.version}: ${why}` }
  }
  return { path: join(folder, name), version: source.release }
}

async function buildInto(target: string, source: GoProgram): Promise<void> {
  const { stdout } = await run('go', ['mod', 'download', '-json', `${source.module}@${source.version}`])
  const { Dir: module } = JSON.parse(stdout) as { Dir: string }
  const copy = join(target, 'source')
  await cp(module, copy, { recursive: true })
  await run('chmod', ['-R', 'u+w', copy])
  process.stderr.write(`building ${source.package} ${source.version}: this takes minutes\n`)
  const program = join(target, programName(source))
  const flags = ['-mod=mod', '-tags', source.tags ?? '', '-ldflags', linkerFlags(source)]
  await run('go', ['build', ...flags, '-o', program, source.package], {
    cwd: copy,
    env: { ...process.env, GOWORK: 'off', CGO_ENABLED: '0' },
    maxBuffer: 64 * 1024 * 1024,
  })
  await rm(copy, { recursive: true })
}

function programName(source: GoProgram): string {
  return source.name ?? basename(source.package)
}

function linkerFlags(source: GoProgram): string {
  const stamp = source.releaseVariable === undefined ? [] : [`-X ${source.releaseVariable}=${source.release}`]
  return [...stamp, ...(source.linkerFlags === undefined ? [] : [source.linkerFlags])].join(' ')
}

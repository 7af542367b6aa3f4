/** Can the stores be written to, is there room, are they fast, and does memory suffice? */
import { existsSync } from 'node:fs'
import { open, rm, stat } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../../config/schema.ts'
import { formatSize } from '../../config/units.ts'
import type { Clock } from '../../core/clock.ts'
import { type Finding, found } from '../../core/finding.ts'
import { loadLibrary } from '../../stores/lmdb/library.ts'
import { type Disk, dataFile, networkFileSystemOf, systemDisk } from '../../stores/lmdb/place.ts'
import { bytesText } from '../text.ts'

type LmdbConfig = Extract<Config['stores'][string], { type: 'lmdb' }>

export async function checkStores(config: Config, clock: Clock): Promise<Finding[]> {
  const used = new Set(Object.values(config.backends).map(({ store }) => store))
  const findings = [memoryFinding(config.limits.memoryBytes, availableMemory())]
  for (const [name, store] of Object.entries(config.stores)) {
    if (!used.has(name)) continue
    if (store.type === 'lmdb') findings.push(...(await checkLmdb(`store ${name}`, store, clock)))
    else
      findings.push(
        found(`store ${name}`).ok('Buckets are kept in memory only: a restart begins without them.'),
      )
  }
  return findings
}

/** What this process may use: that of its container, or that of the machine. */
function availableMemory(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** Beside what the limit covers, Node and the garbage between two collections take their part. */
const largestShare = 0.7

export function memoryFinding(limit: number, available: number): Finding {
  const about = found('memory')
  const text = `limits.memory is ${formatSize(limit)} of the ${bytesText(available)} that this process may use`
  if (limit <= largestShare * available) return about.ok(`${text}.`)
  return about.warn(`${text}: too much.`, `Set limits.memory to ${bytesText(0.5 * available)} or less.`)
}

async function checkLmdb(check: string, store: LmdbConfig, clock: Clock): Promise<Finding[]> {
  const about = found(check)
  if ((await loadLibrary()) === undefined) {
    return [
      about.fail('The package lmdb is not installed: buckets are kept in memory only.', 'npm install lmdb'),
    ]
  }
  const directory = nearestExisting(store.path)
  const network = networkFileSystemOf(directory, systemDisk)
  if (network !== undefined) {
    const sentence = `${store.path} lies on a network or user-space file system (${network}), where it would be damaged.`
    return [about.fail(sentence, 'Choose a folder on a local disk.')]
  }
  const speed = await writeFinding(check, directory, clock)
  return speed.status === 'fail' ? [speed] : [speed, await roomFinding(check, store, systemDisk)]
}

/** The folder itself is made at the start; here nothing is left behind. */
function nearestExisting(path: string): string {
  let directory = resolve(path)
  while (!existsSync(directory) && dirname(directory) !== directory) directory = dirname(directory)
  return directory
}

const slowMs = 50
const tries = 3

async function writeFinding(check: string, directory: string, clock: Clock): Promise<Finding> {
  const about = found(check)
  try {
    const ms = await fastestWrite(directory, clock)
    const text = `${directory} can be written to; a small write and read takes ${ms.toFixed(1)} ms`
    if (ms <= slowMs) return about.ok(`${text}.`)
    return about.warn(
      `${text}: slow.`,
      'Choose a folder on a faster disk; requests do not wait for it, but it may lag.',
    )
  } catch (error) {
    const sentence = `${directory} cannot be written to: ${(error as Error).message}.`
    return about.fail(sentence, 'Give this user a folder it may write to.')
  }
}

/** With a file of its own, forced to the disk each time, and taken away again. */
async function fastestWrite(directory: string, clock: Clock): Promise<number> {
  const path = join(directory, `.windowpane-doctor-${process.pid}-${Math.floor(clock.random() * 1e9)}`)
  const bytes = Buffer.alloc(4096, 'windowpane')
  const file = await open(path, 'wx+', 0o600)
  let fastest = Number.POSITIVE_INFINITY
  try {
    for (let i = 0; i < tries; i++) {
      const began = clock.elapsed()
      await file.write(bytes, 0, bytes.length, 0)
      await file.sync()
      await file.read(Buffer.alloc(bytes.length), 0, bytes.length, 0)
      fastest = Math.min(fastest, clock.elapsed() - began)
    }
    return fastest
  } finally {
    await file.close()
    await rm(path, { force: true })
  }
}

async function roomFinding(
  check: string,
  { path, sizeBytes, reserveBytes }: LmdbConfig,
  disk: Disk,
): Promise<Finding> {
  const about = found(check)
  const held = await stat(dataFile(path)).then(
    ({ size }) => size,
    () => 0,
  )
  const free = disk.freeBytes(nearestExisting(path))
  const wanted = Math.max(0, sizeBytes - held) + reserveBytes
  const text = `${bytesText(free)} are free; it may grow by ${bytesText(Math.max(0, sizeBytes - held))} and leaves ${bytesText(reserveBytes)} to others`
  if (free >= wanted) return about.ok(`${text}.`)
  if (free < reserveBytes)
    return about.fail(`${text}: nothing more is written.`, 'Free some space, or lower its reserve.')
  return about.warn(`${text}: it cannot grow to its size.`, 'Free some space, or lower its size.')
}

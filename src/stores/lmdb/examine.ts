/** The doctor's checks of an LMDB store: the package is installed, the folder is writable, the disk has room. */
import { existsSync } from 'node:fs'
import { open, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { bytesText } from '../../config/units.ts'
import type { Clock } from '../../core/clock.ts'
import { capital, fail, fastestOf, ok, speedFinding, warn } from '../findings.ts'
import type { Inspected, Refused, StoreFinding } from '../kind.ts'
import type { LmdbConfig } from './kind.ts'
import { libraryVersion, loadLibrary } from './library.ts'
import { type Disk, dataFile, distrust, networkFileSystemOf, systemDisk } from './place.ts'

export async function examineLmdb(config: LmdbConfig, clock: Clock): Promise<StoreFinding[]> {
  const library = await loadLibrary()
  if ('refused' in library) {
    const { detail, remedy } = library
    return [fail(`${capital(detail)}: buckets are kept in memory only.`, remedy)]
  }
  const distrusted = distrust(config.path)
  if (distrusted !== undefined)
    return [fail(`${distrusted.detail}: the store is refused.`, capital(distrusted.remedy))]
  const directory = nearestExisting(config.path)
  const network = networkFileSystemOf(directory, systemDisk)
  if (network !== undefined) {
    const where = `${config.path} lies on a network or user-space file system (${network})`
    return [fail(`${where}, where it would be damaged.`, 'Choose a folder on a local disk.')]
  }
  const speed = await writeFinding(directory, clock)
  return speed.status === 'fail' ? [speed] : [speed, await roomFinding(config, systemDisk)]
}

/** The folder is made when the store is opened, so that nothing can be missing. */
export async function inspectLmdb(config: LmdbConfig, clock: Clock): Promise<Inspected | Refused> {
  const failed = (await examineLmdb(config, clock)).find(({ status }) => status === 'fail')
  if (failed === undefined) return { version: libraryVersion, missing: [] }
  return { refused: 'unusable', detail: failed.sentence, remedy: failed.remedy ?? '' }
}

/** The folder itself is made when the store is opened: the doctor leaves nothing behind. */
function nearestExisting(path: string): string {
  let directory = resolve(path)
  while (!existsSync(directory) && dirname(directory) !== directory) directory = dirname(directory)
  return directory
}

const attempts = 3

async function writeFinding(directory: string, clock: Clock): Promise<StoreFinding> {
  try {
    const ms = await fastestWrite(directory, clock)
    const remedy = 'Choose a folder on a faster disk; requests do not wait for it, but it may lag.'
    return speedFinding(`${directory} can be written to; a small write and read`, ms, remedy)
  } catch (error) {
    const text = `${directory} cannot be written to: ${(error as Error).message}.`
    return fail(text, 'Give this user a folder it may write to.')
  }
}

/** Of several writes that are forced to the disk, in a file of its own that is removed again. */
async function fastestWrite(directory: string, clock: Clock): Promise<number> {
  const path = join(directory, `.windowpane-doctor-${process.pid}-${Math.floor(clock.random() * 1e9)}`)
  const bytes = Buffer.alloc(4096, 'windowpane')
  const file = await open(path, 'wx+', 0o600)
  try {
    return await fastestOf(attempts, clock, async () => {
      await file.write(bytes, 0, bytes.length, 0)
      await file.sync()
      await file.read(Buffer.alloc(bytes.length), 0, bytes.length, 0)
    })
  } finally {
    await file.close()
    await rm(path, { force: true })
  }
}

async function roomFinding({ path, sizeBytes, reserveBytes }: LmdbConfig, disk: Disk): Promise<StoreFinding> {
  const held = await stat(dataFile(path)).then(
    ({ size }) => size,
    () => 0,
  )
  const free = disk.freeBytes(nearestExisting(path))
  const wanted = Math.max(0, sizeBytes - held) + reserveBytes
  const text = `${bytesText(free)} are free; it may grow by ${bytesText(Math.max(0, sizeBytes - held))} and leaves ${bytesText(reserveBytes)} to others`
  if (free >= wanted) return ok(`${text}.`)
  if (free < reserveBytes)
    return fail(`${text}: nothing more is written.`, 'Free some space, or lower its reserve.')
  return warn(`${text}: it cannot grow to its size.`, 'Free some space, or lower its size.')
}

/** From a directory to an open file: is it a good place, how was the file left, does it open, is it worth compacting. */
import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs'
import { type Clock, pause } from '../../core/clock.ts'
import type { Refused } from '../kind.ts'
import { keepingAlive } from '../waiting.ts'
import { StoreFile } from './file.ts'
import { isProbablyWhole } from './inspect.ts'
import { type LmdbLibrary, loadLibrary, nameOfError } from './library.ts'
import { type Host, Markers, type SetAsideReason } from './marker.ts'
import { type Disk, dataFile, fileMode, lockFile, preparePlace } from './place.ts'

export interface OpenOptions {
  readonly clock: Clock
  readonly directory: string
  readonly maxBytes: number
  readonly crashLimit: number
  readonly host: Host
  readonly disk: Disk
  readonly library?: () => Promise<unknown>
}

export interface Opened {
  readonly file: StoreFile
  readonly markers: Markers
  readonly setAside: SetAsideReason | undefined
}

/** How long another process may take to open the file before this one gives up. */
const lockAttempts = 250
const lockPauseMs = 20
/** A file is copied without its free pages when they are more than the rest, and many. */
const worthCompactingBytes = 16 * 1024 * 1024

export async function openFile(options: OpenOptions): Promise<Opened | Refused> {
  const library = await loadLibrary(options.library)
  if ('refused' in library) return library
  const { directory, host, crashLimit } = options
  const refused = preparePlace(directory, options.disk)
  if (refused !== undefined) return refused
  const markers = new Markers(directory, host, crashLimit)
  if (!(await lock(markers, options.clock))) return busy(directory)
  try {
    return await openLocked(library, markers, options)
  } catch (error) {
    markers.leave(false)
    return cannotOpen(directory, error)
  } finally {
    markers.unlock()
  }
}

const lock = (markers: Markers, clock: Clock): Promise<boolean> =>
  keepingAlive(async () => {
    for (let attempt = 0; attempt < lockAttempts; attempt++) {
      if (markers.tryLock()) return true
      await pause(clock, lockPauseMs)
    }
    return false
  })

async function openLocked(library: LmdbLibrary, markers: Markers, options: OpenOptions): Promise<Opened> {
  const { setAside, isAlone } = markers.enter()
  const open = (): StoreFile => new StoreFile(library, options.directory, options.maxBytes)
  const beginAnew = (): Opened => {
    markers.setAside()
    return { file: open(), markers, setAside: 'damaged' }
  }
  if (!isProbablyWhole(dataFile(options.directory))) {
    if (!isAlone) throw new Error('the file is damaged, and another process has it open')
    return beginAnew()
  }
  try {
    const file = open()
    return { file: isAlone ? await compacted(file, options, open) : file, markers, setAside }
  } catch (error) {
    // A file that does not open is useless; a file that another process has open is not touched.
    if (!isAlone || !existsSync(dataFile(options.directory))) throw error
    return beginAnew()
  }
}

async function compacted(file: StoreFile, options: OpenOptions, open: () => StoreFile): Promise<StoreFile> {
  const { liveBytes, fileBytes } = file.room()
  const isWorthIt = fileBytes > worthCompactingBytes && fileBytes > 2 * liveBytes
  if (!isWorthIt || options.disk.freeBytes(options.directory) < 2 * liveBytes) return file
  const path = dataFile(options.directory)
  rmSync(`${path}.compact`, { force: true })
  const copy = await file.compactedCopy()
  await file.close()
  chmodSync(copy, fileMode)
  renameSync(copy, path)
  rmSync(lockFile(options.directory), { force: true })
  return open()
}

const busy = (directory: string): Refused => ({
  refused: 'busy',
  detail: `another process has been opening ${directory} for several seconds`,
  remedy: 'look whether it hangs; if none is there, remove the file "opening" in that directory',
})

const cannotOpen = (directory: string, cause: unknown): Refused => ({
  refused: 'cannot_open',
  detail: `${directory} could not be opened: ${nameOfError(cause)}`,
  remedy: 'check that the directory is writable and its disk healthy, or choose another one',
  cause,
})

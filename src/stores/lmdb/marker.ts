/**
 * Tracks which processes have the file open. Every store creates a marker `open.<pid>-<number>` with the boot id it
 * runs under and removes it when it closes. A marker without its process shows how the file was closed: under another
 * boot the machine went down; under this one the process was killed or crashed, perhaps because of the file. The file
 * is set aside (kept for inspection, one at a time) after the former, and after two of the latter in a row: starting
 * cold is cheap, trusting a damaged tree is not, and a file that crashes its readers would do so for ever.
 */
import { existsSync, linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fieldsIn } from '../../core/json-object.ts'
import { dataFile, fileMode, lockFile } from './place.ts'

export interface Host {
  readonly pid: number
  /** Differs between boots of the machine; '' where that is not known. */
  readonly bootId: string
  /** When a process of this boot began, as text that is equal for equal processes; undefined where it is not running. */
  beganAt(pid: number): string | undefined
}

export const systemHost: Host = {
  pid: process.pid,
  bootId: textOf('/proc/sys/kernel/random/boot_id') ?? '',
  beganAt(pid) {
    const stat = textOf(`/proc/${pid}/stat`)
    // Behind the name, which may hold anything: the 20th field is the start time in ticks.
    if (stat !== undefined) return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    return isRunning(pid) ? '' : undefined
  },
}

export type SetAsideReason = 'machine_went_down' | 'repeated_crashes' | 'damaged'

interface Marker {
  readonly bootId: string
  readonly beganAt: string
}

/** Several stores of one process may have the same file open. */
let numbered = 0

export class Markers {
  readonly #directory: string
  readonly #host: Host
  readonly #crashLimit: number
  readonly #number = ++numbered
  #isEntered = false

  constructor(directory: string, host: Host, crashLimit: number) {
    this.#directory = directory
    this.#host = host
    this.#crashLimit = crashLimit
  }

  /** One process at a time may look at the markers and the file. Returns false where another one is at it. */
  tryLock(): boolean {
    const lock = join(this.#directory, 'opening')
    const holder = textOf(lock)
    if (holder !== undefined && this.#host.beganAt(Number(holder)) === undefined)
      rmSync(lock, { force: true })
    // Linked when it is complete: a lock whose holder cannot be read would look like one that was left behind.
    const own = `${lock}.${this.#host.pid}`
    try {
      writeFileSync(own, String(this.#host.pid), { mode: fileMode })
      linkSync(own, lock)
      return true
    } catch {
      return false
    } finally {
      rmSync(own, { force: true })
    }
  }

  unlock(): void {
    rmSync(join(this.#directory, 'opening'), { force: true })
  }

  /** Evaluates left-over markers, sets the file aside where needed, and creates this process' own marker. */
  enter(): { readonly setAside?: SetAsideReason; readonly isAlone: boolean } {
    const left = this.#markersLeft()
    const isAlone = left.every(({ isAlive }) => !isAlive)
    const reason = isAlone ? this.#judge(left) : undefined
    for (const { file, isAlive } of left) if (!isAlive) rmSync(file, { force: true })
    if (reason !== undefined) this.setAside()
    const marker: Marker = {
      bootId: this.#host.bootId,
      beganAt: this.#host.beganAt(this.#host.pid) ?? '',
    }
    writeFileSync(`${this.#ownFile}.new`, JSON.stringify(marker), { mode: fileMode })
    renameSync(`${this.#ownFile}.new`, this.#ownFile)
    this.#isEntered = true
    return reason === undefined ? { isAlone } : { setAside: reason, isAlone }
  }

  /** Whether no other store has the file open. Where that cannot be seen, others may have. */
  isAlone(): boolean {
    try {
      return this.#markersLeft().every(({ file, isAlive }) => file === this.#ownFile || !isAlive)
    } catch {
      return false
    }
  }

  /** The file did its work: earlier crashes are not held against it. */
  forgive(): void {
    rmSync(this.#crashFile, { force: true })
  }

  /** After a clean end, or to let the next one start cold where the file is `damaged`. */
  leave(isDamaged: boolean): void {
    if (!this.#isEntered) return
    this.#isEntered = false
    if (isDamaged) writeFileSync(this.#crashFile, String(this.#crashLimit), { mode: fileMode })
    else this.forgive()
    rmSync(this.#ownFile, { force: true })
  }

  setAside(): void {
    const file = dataFile(this.#directory)
    rmSync(this.#crashFile, { force: true })
    rmSync(lockFile(this.#directory), { force: true })
    if (existsSync(file)) renameSync(file, `${file}.aside`)
  }

  get #ownFile(): string {
    return join(this.#directory, `open.${this.#host.pid}-${this.#number}`)
  }

  get #crashFile(): string {
    return join(this.#directory, 'crashes')
  }

  #judge(left: readonly { readonly marker: Marker }[]): SetAsideReason | undefined {
    const earlier = Number(textOf(this.#crashFile) ?? 0)
    if (left.some(({ marker }) => marker.bootId !== this.#host.bootId)) return 'machine_went_down'
    const crashes = earlier + left.length
    if (crashes >= this.#crashLimit) return 'repeated_crashes'
    if (left.length > 0) writeFileSync(this.#crashFile, String(crashes), { mode: fileMode })
    return undefined
  }

  #markersLeft(): { file: string; marker: Marker; isAlive: boolean }[] {
    return readdirSync(this.#directory)
      .filter((name) => /^open\.\d+-\d+$/.test(name))
      .map((name) => {
        const file = join(this.#directory, name)
        const marker = markerIn(file)
        const pid = Number.parseInt(name.slice('open.'.length), 10)
        const isOfThisBoot = marker.bootId === this.#host.bootId
        return { file, marker, isAlive: isOfThisBoot && this.#host.beganAt(pid) === marker.beganAt }
      })
  }
}

/** A marker without its content was lost on the way to the disk: only a machine that goes down does that. */
function markerIn(file: string): Marker {
  const { bootId, beganAt } = fieldsIn(textOf(file) ?? '') as Partial<Marker>
  return { bootId: bootId ?? '?', beganAt: beganAt ?? '?' }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

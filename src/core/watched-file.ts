/** A file that may be replaced at any moment: its bytes are kept for as long as it looks the same. */
import { readFileSync, statSync } from 'node:fs'
import type { Clock } from './clock.ts'
import { fileSentence } from './file-error.ts'

export type FileRead = { readonly bytes: Buffer } | Unusable

/** `sentence`: where the file cannot be read, the same as commands say it. */
export interface Unusable {
  readonly error: string
  readonly sentence?: string
}

/** Two writes within one tick of the file system's clock look the same: a file as young as this is read again. */
const youngMs = 2_000

export class WatchedFile {
  readonly path: string
  readonly #clock: Clock
  #mark = ''
  #last: FileRead | undefined

  constructor(path: string, clock: Clock) {
    this.path = path
    this.#clock = clock
  }

  /** The same value for as long as the content is the same. Never throws. */
  read(): FileRead {
    try {
      // Before the content: a change between the two is seen the next time.
      const { ino, size, mtimeMs, ctimeMs } = statSync(this.path)
      const mark = `${ino} ${size} ${mtimeMs} ${ctimeMs}`
      const isYoung = Math.max(mtimeMs, ctimeMs) > this.#clock.now() - youngMs
      if (this.#last !== undefined && mark === this.#mark && !isYoung) return this.#last
      this.#mark = mark
      return this.#remember({ bytes: readFileSync(this.path) })
    } catch (error) {
      this.#mark = ''
      return this.#remember(unreadable(this.path, error))
    }
  }

  #remember(read: FileRead): FileRead {
    if (this.#last === undefined || !isSame(this.#last, read)) this.#last = read
    return this.#last
  }
}

function isSame(a: FileRead, b: FileRead): boolean {
  if ('error' in a || 'error' in b) return 'error' in a && 'error' in b && a.error === b.error
  return a.bytes.equals(b.bytes)
}

/** For a file that is read once. Never throws. */
export function readWhole(path: string): FileRead {
  try {
    return { bytes: readFileSync(path) }
  } catch (error) {
    return unreadable(path, error)
  }
}

const unreadable = (path: string, error: unknown): FileRead => ({
  error: `${path} cannot be read: ${codeOf(error)}`,
  sentence: fileSentence(path, error),
})

function codeOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'ENOENT') return 'it does not exist'
  if (code === 'EACCES' || code === 'EPERM') return 'access is denied'
  return code ?? String(error)
}

/**
 * Everything that relies on internals of Node or V8 that they do not document. Each piece has a test that fails when a
 * new version behaves differently, and a switch in the configuration (section `runtime`) that turns it off.
 */
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { IncomingMessage } from './node-http.ts'

/** Also the rows of the reference page. */
export const switchDescriptions = {
  shortcut:
    'plain requests are read and answered on the socket, in front of the reader of node:http; without it, a small hit takes two to three times as long',
  pushedBodies:
    'request bodies are taken where the parser of node:http hands them over; without it, they are read as streams',
  writeQueue:
    'the write queue of a socket shows whether a client reads anything of a large write; without it, a client has `limits.writeTimeout` to read each write, which may be a whole answer',
  gcTuning:
    'V8 flags: the heap grows by the unused part of `limits.memory` before it is collected, and is compacted more often below 512 MiB; without it, large answers cost more CPU time, and small limits more memory beside the limit',
  gcOnDemand:
    'garbage collections are triggered: below a memory limit of 512 MiB earlier than V8 would, and with several workers because V8 does not count the memory that they share; without it, the process may take much more than `limits.memory`',
} as const

/** The pieces of this file that are in use; each can be switched off by itself. */
export type RuntimeSwitches = Readonly<Record<keyof typeof switchDescriptions, boolean>>

const allSwitches = (isOn: boolean): RuntimeSwitches =>
  Object.freeze(
    Object.fromEntries(Object.keys(switchDescriptions).map((name) => [name, isOn])) as RuntimeSwitches,
  )

export const allOn: RuntimeSwitches = allSwitches(true)
export const allOff: RuntimeSwitches = allSwitches(false)

/**
 * Puts `read` in the place of node:http's own reader, which is the only `data` listener of a new connection. Returns that
 * reader, which emits `request` before it returns; undefined, and nothing is changed, where the listeners are not as expected.
 */
export function replaceHttpReader(
  socket: Socket,
  read: (bytes: Buffer) => void,
): ((bytes: Buffer) => void) | undefined {
  const [httpReader, ...others] = socket.listeners('data') as ((bytes: Buffer) => void)[]
  if (httpReader === undefined || others.length > 0) return undefined
  // A second listener also makes node:http stop reading from the socket's handle directly.
  socket.on('data', read)
  socket.off('data', httpReader)
  return (bytes) => httpReader.call(socket, bytes)
}

/**
 * A request whose body can be taken where the parser of node:http hands it over, by `push`, without the machinery of
 * streams, which costs more than a short body is worth.
 */
export class TappedMessage extends IncomingMessage {
  #tap: ((chunk: Buffer | null) => boolean) | undefined

  /** From now on `tap` gets every chunk, and null at the end. It returns false where it wants no more. */
  tapBody(tap: (chunk: Buffer | null) => boolean): void {
    this.#tap = tap
    // Marks the body as being read: node:http discards a body that has no reader.
    this.read(0)
  }

  override push(chunk: Buffer | null): boolean {
    return this.#tap === undefined ? super.push(chunk) : this.#tap(chunk)
  }
}

/** How many bytes of pending writes the system has not accepted; undefined where the handle does not expose it. */
export function writeQueueOf(socket: Socket): number | undefined {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize
}

/** V8 reads these three flags again and again, unlike most. Seen to work in this version only. */
export const hasKnownHeapFlags = (): boolean => process.versions.v8.startsWith('13.6.')

/** The next full collection starts when the heap has grown by this share of the heap that survived the last one. */
export function setHeapGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}

/** Buffers count as heap that has grown, instead of forcing a collection every 64 MiB. */
export function countBuffersAsHeap(): void {
  setFlagsFromString('--external-memory-accounted-in-global-limit')
}

/** Collections leave less unused memory between objects, in all threads. */
export function saveMemory(): void {
  setFlagsFromString('--memory-saver-mode')
}

/**
 * From now on the young generation of a new thread has the size of its `resourceLimits`. `--max-semi-space-size`, where
 * the process was started with it, would count for every thread instead.
 */
export function heedYoungLimits(): void {
  setFlagsFromString('--max-semi-space-size=0')
}

export interface GarbageCollector {
  (how?: { readonly type: 'minor' }): void
  (how: { readonly type: 'major'; readonly execution: 'async' }): Promise<void>
}

/**
 * Frees unreachable buffers before it returns. V8 frees them on another thread after a collection, and later ones come on
 * top until that is done; the next collection waits for it, however short it is.
 */
export function bufferCollector(): () => void {
  const collect = garbageCollector()
  return () => {
    collect()
    collect({ type: 'minor' })
  }
}

/** V8's own `gc`, which a process has otherwise only if it was started with a flag. */
export function garbageCollector(): GarbageCollector {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as GarbageCollector
}

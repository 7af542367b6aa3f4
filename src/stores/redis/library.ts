/** The part of the `iovalkey` package that is used here, and how it is loaded: it is an optional peer. */
import { loadClient, type Refused } from '../kind.ts'

export type Argument = string | number | Buffer

/** One server, the primary behind sentinels, or a cluster: all take the same commands. Replies are bytes. */
export interface RedisClient {
  /** `ready` while commands can be sent. */
  readonly status: string
  hmgetBuffer(key: string, ...fields: string[]): Promise<(Buffer | null)[]>
  hgetallBuffer(key: string): Promise<Readonly<Record<string, Buffer>>>
  zrangeBuffer(key: string, start: number, stop: number): Promise<Buffer[]>
  publish(channel: string, message: Buffer): Promise<number>
  subscribe(channel: string): Promise<unknown>
  call(command: string, ...args: Argument[]): Promise<unknown>
  /** The scripts of scripts.ts: the number of keys, the keys, the arguments. */
  windowpaneWrite(keys: number, ...args: Argument[]): Promise<unknown>
  windowpaneCommit(keys: number, ...args: Argument[]): Promise<number>
  windowpaneTidy(keys: number, ...args: Argument[]): Promise<unknown>
  /** Of a cluster: a client for each of its servers. */
  nodes?(role: 'master'): readonly RedisClient[]
  on(event: 'ready' | 'end', listener: () => void): unknown
  on(event: 'error' | 'node error' | 'sentinelError', listener: (error: Error) => void): unknown
  on(event: 'messageBuffer', listener: (channel: Buffer, message: Buffer) => void): unknown
  once(event: 'ready' | 'error' | 'node error' | 'end', listener: () => void): unknown
  disconnect(): void
}

export interface RedisLibrary {
  readonly Redis: new (options: object) => RedisClient
  readonly Cluster: new (nodes: readonly Host[], options: object) => RedisClient
}

export interface Host {
  readonly host: string
  readonly port: number
}

/** The version is the one that package.json requires. */
export const loadLibrary = (
  load: () => Promise<unknown> = () => import('iovalkey'),
): Promise<RedisLibrary | Refused> => loadClient('iovalkey', '0.4.0', load)

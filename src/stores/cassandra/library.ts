/** The part of the `cassandra-driver` package that is used here, and how it is loaded: it is an optional peer. */
import { loadClient, type Refused } from '../kind.ts'

export interface Row {
  readonly [column: string]: unknown
}

export interface Result {
  /** Absent after a write without a condition. */
  readonly rows?: readonly Row[]
  /** Where the next page begins; null after the last one. */
  readonly pageState: string | null
  /** Whether the conditions of a write held. */
  wasApplied(): boolean
}

export interface Statement {
  readonly query: string
  readonly params: readonly unknown[]
}

export interface QueryOptions {
  /** Always: the driver guesses the types of the parameters of other statements, and guesses bigint wrong. */
  readonly prepare: true
  readonly isIdempotent: boolean
  readonly consistency: number
  readonly serialConsistency?: number
  readonly fetchSize?: number
  readonly pageState?: string
  readonly readTimeout?: number
}

export interface Host {
  readonly datacenter: string | null
  isUp(): boolean
  /** Ends its connections and timers, with or without waiting for operations under way. */
  shutdown(waitForPending: boolean): Promise<void>
}

export interface DriverClient {
  readonly hosts: { values(): readonly Host[] }
  /** The connection by which it learns of hosts; a client that could not connect forgets to close it. */
  readonly controlConnection: { readonly connection: { close(): void } | null }
  on(event: 'hostDown', listener: () => void): unknown
  connect(): Promise<void>
  execute(query: string, params: readonly unknown[], options: QueryOptions): Promise<Result>
  batch(statements: readonly Statement[], options: QueryOptions & { readonly logged: false }): Promise<Result>
  shutdown(): Promise<void>
}

export interface Driver {
  readonly Client: new (options: Record<string, unknown>) => DriverClient
  readonly policies: {
    readonly loadBalancing: {
      readonly DefaultLoadBalancingPolicy: new (options: { readonly localDc: string }) => object
    }
    readonly reconnection: {
      readonly ExponentialReconnectionPolicy: new (baseMs: number, maxMs: number) => object
    }
  }
}

/** The version is the one that package.json requires. */
export const loadLibrary = (
  load: () => Promise<unknown> = () => import('cassandra-driver'),
): Promise<Driver | Refused> => loadClient('cassandra-driver', '4.10.0', load)

/** Codes of the native protocol. */
export const consistencies = {
  one: 1,
  quorum: 4,
  local_quorum: 6,
  local_serial: 9,
  local_one: 10,
} as const

export const errorCodes = {
  readFailure: 0x1300,
  invalid: 0x2200,
  badCredentials: 0x100,
  unauthorized: 0x2100,
} as const

/** The code of a server's error; undefined for the driver's own errors. */
export function codeOf(error: unknown): number | undefined {
  const { code } = error as { code?: unknown }
  return typeof code === 'number' ? code : undefined
}

/** The reasons by host, of the driver's error when all hosts have failed. */
export const innerErrorsOf = (error: unknown): readonly (readonly [host: string, error: unknown])[] =>
  Object.entries((error as { innerErrors?: object | null }).innerErrors ?? {})

/** The message of the server or the driver, in one line. */
export function messageOf(error: unknown): string {
  const [first] = innerErrorsOf(error)
  if (first !== undefined) return `no host answers (${first[0]}: ${messageOf(first[1])})`
  return String(error instanceof Error ? error.message : error).split('\n', 1)[0]!
}

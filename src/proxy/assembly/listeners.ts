/** The listeners of a server: one per address, each with the databases that are to be reached there. */
import type { CutReason } from '../../core/decision.ts'
import { allOn } from '../../core/runtime.ts'
import { socketPathOf } from '../../core/socket-address.ts'
import type { Arrivals } from '../front/arrivals.ts'
import type { ClientRequest, Reply } from '../front/exchange.ts'
import { type Listener, openListener } from '../front/listener.ts'
import { answererOf } from '../request/dispatch.ts'
import { narrowness } from '../request/routes.ts'
import type { BackendRuntime } from './backend-runtime.ts'
import type { DatabaseOptions, ProxyServerOptions } from './options.ts'

export type ServedDatabase = DatabaseOptions & { readonly backendRuntime: BackendRuntime }

/** A change that has been made ready, and has no effect until `commit`. */
export interface PreparedChange {
  /** Of the addresses that were opened for it, as configured. */
  readonly urls: ReadonlyMap<string, string>
  commit(): Promise<void> | void
  discard(): Promise<void>
}

export interface Listeners {
  urlOf(address: string): string
  /** Opens the missing listeners. @throws WindowpaneError where an address is unavailable; nothing has changed then. */
  prepare(databases: readonly ServedDatabase[]): Promise<PreparedChange>
  close(): Promise<void>
}

type Answer = (request: ClientRequest, response: Reply) => void

interface OpenAddress {
  readonly listener: Listener
  answer: Answer
}

export class OwnListeners implements Listeners {
  readonly #options: ProxyServerOptions
  readonly #arrivals: Arrivals
  #open: ReadonlyMap<string, OpenAddress> = new Map()
  /** Listeners that are being drained. */
  readonly #closing = new Set<Promise<void>>()

  constructor(options: ProxyServerOptions, arrivals: Arrivals) {
    this.#options = options
    this.#arrivals = arrivals
  }

  urlOf(address: string): string {
    return this.#open.get(address)!.listener.url
  }

  async prepare(databases: readonly ServedDatabase[]): Promise<PreparedChange> {
    const byClaim = databases.toSorted((a, b) => narrowness(b.route) - narrowness(a.route))
    const groups = Map.groupBy(byClaim, (database) => database.listen ?? this.#options.listen)
    const opened = new Map<string, OpenAddress>()
    const discard = async () => {
      await Promise.all([...opened.values()].map(({ listener }) => listener.close()))
    }
    try {
      for (const [address, group] of groups) {
        if (!this.#open.has(address)) opened.set(address, await this.#openAddress(address, group))
      }
    } catch (error) {
      await discard()
      throw error
    }
    const urls = new Map([...opened].map(([address, { listener }]) => [address, listener.url]))
    return { urls, discard, commit: () => this.#commit(groups, opened) }
  }

  async close(): Promise<void> {
    const closings = [...this.#open.values()].map(({ listener }) => listener.close())
    await Promise.all([...closings, ...this.#closing])
  }

  #commit(
    groups: ReadonlyMap<string, readonly ServedDatabase[]>,
    opened: ReadonlyMap<string, OpenAddress>,
  ): void {
    const before = this.#open
    const open = new Map<string, OpenAddress>()
    for (const [address, group] of groups) {
      const place = (opened.get(address) ?? before.get(address))!
      place.answer = answererOf(group)
      open.set(address, place)
    }
    this.#open = open
    for (const [address, { listener }] of before) if (!open.has(address)) this.#drain(listener)
  }

  #drain(listener: Listener): void {
    const closing: Promise<void> = listener.close().finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  async #openAddress(address: string, group: readonly ServedDatabase[]): Promise<OpenAddress> {
    const { limits, runtime = allOn, clock, tls, telemetry, parts } = this.#options
    const place = { answer: answererOf(group) }
    if (parts?.opensSockets === false && socketPathOf(address) !== undefined)
      return Object.assign(place, { listener: { url: address, close: async () => {} } })
    const onCertificate = (error: string | undefined) =>
      telemetry?.log.change('certificate of the listener', {
        is: error ?? 'in force',
        isGood: error === undefined,
      })
    const onCut = (reason: CutReason) => telemetry?.metrics.observeCut(reason)
    const secure = tls && { tls, onCertificate }
    const reusePort = parts?.reusePort === true
    const { name, listen: own } = group[0]!
    const flag = own === undefined ? '--listen' : `--backends.${name}.listen`
    const listening = { address, flag, limits, runtime, clock, reusePort, arrivals: this.#arrivals, onCut }
    const answer: Answer = (request, response) => place.answer(request, response)
    const listener = await openListener({ ...listening, ...secure }, answer, answer)
    return Object.assign(place, { listener })
  }
}

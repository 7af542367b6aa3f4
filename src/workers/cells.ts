/** Cells of the main thread, as the threads that serve requests reach them: every operation is a message and its reply. */
import type { Cells } from '../stores/cells.ts'
import type { StoreName } from './cache/messages.ts'

const operations = ['get', 'list', 'put', 'take', 'remove', 'publish'] as const
type Operation = (typeof operations)[number]

export interface ToCells {
  readonly kind: 'cells'
  readonly ask: number
  readonly store: StoreName
  readonly operation: Operation
  readonly given: readonly unknown[]
}

export interface FromCells {
  readonly kind: 'cells-done'
  readonly ask: number
  readonly result?: unknown
  /** Why it failed. */
  readonly failure?: string
}

/** A worker's initial information about the cells of a store. */
export type KnownCells = Pick<Cells, 'name' | 'capabilities'>

/** The main thread's side. */
export async function runOnCells(cells: Cells | undefined, message: ToCells): Promise<FromCells> {
  const { ask, operation, given } = message
  try {
    if (cells === undefined) throw new Error('the store has no cells')
    const run = cells[operation] as (...given: readonly unknown[]) => unknown
    return { kind: 'cells-done', ask, result: await run.apply(cells, [...given]) }
  } catch (error) {
    return { kind: 'cells-done', ask, failure: String(error) }
  }
}

/** A thread's side. */
export class RemoteCells {
  readonly #send: (message: ToCells) => void
  readonly #waiting = new Map<number, Omit<PromiseWithResolvers<unknown>, 'promise'>>()
  #lastAsk = 0

  constructor(send: (message: ToCells) => void) {
    this.#send = send
  }

  of(store: StoreName, { name, capabilities }: KnownCells): Cells {
    const entries = operations.map((operation) => [
      operation,
      (...given: readonly unknown[]) => this.#run({ store, operation, given }),
    ])
    // The main thread closes the stores.
    return { name, capabilities, close() {}, ...(Object.fromEntries(entries) as Pick<Cells, Operation>) }
  }

  receive({ ask, result, failure }: FromCells): void {
    const waiting = this.#waiting.get(ask)
    this.#waiting.delete(ask)
    if (failure === undefined) waiting?.resolve(result)
    else waiting?.reject(new Error(failure))
  }

  #run(what: Pick<ToCells, 'store' | 'operation' | 'given'>): Promise<unknown> {
    const ask = ++this.#lastAsk
    return new Promise((resolve, reject) => {
      this.#waiting.set(ask, { resolve, reject })
      this.#send({ kind: 'cells', ask, ...what })
    })
  }
}

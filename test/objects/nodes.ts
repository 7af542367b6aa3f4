/** Processes that share objects (node.ts), as tests handle them. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ObjectKey } from '../../src/engine/objects/objects.ts'
import { bounded } from '../wait.ts'
import type { Answer, Get, Message, Order, Progress } from './node.ts'

const script = fileURLToPath(import.meta.resolve('./node.ts'))

interface Pending {
  resolve(reply: unknown): void
  reject(error: Error): void
}

export class NodeProcess {
  readonly #child: ChildProcess
  readonly #pending = new Map<number, Pending>()
  /** Unread progress, and the waiter for the next one. */
  readonly #progress: Progress[] = []
  #waiting: ((progress: Progress) => void) | undefined
  #orders = 0

  private constructor(url: string) {
    this.#child = fork(script, [url])
    this.#child.on('message', (message: Message) => this.#receive(message))
    this.#child.once('exit', (code, signal) => this.#fail(new Error(`a node ended: ${signal ?? code}`)))
  }

  /** Resolves once it has opened the store. */
  static async start(url: string): Promise<NodeProcess> {
    const node = new NodeProcess(url)
    await bounded(node.#replyTo(0), () => 'a node that is ready')
    return node
  }

  get(key: ObjectKey, order: Omit<Get, 'do' | 'key'>): Promise<Answer> {
    return this.#send({ do: 'get', key, ...order }) as Promise<Answer>
  }

  peek(key: ObjectKey): Promise<Answer | undefined> {
    return this.#send({ do: 'peek', key }) as Promise<Answer | undefined>
  }

  rollback(key: ObjectKey): Promise<boolean> {
    return this.#send({ do: 'rollback', key }) as Promise<boolean>
  }

  async order(order: Order): Promise<void> {
    await this.#send(order)
  }

  /** Resolves once a regeneration of this process has reached this step. */
  async reached(step: Progress): Promise<void> {
    while ((await this.progress()) !== step);
  }

  /** The next step that a regeneration of this process has reached. */
  async progress(): Promise<Progress> {
    const known = this.#progress.shift()
    if (known !== undefined) return known
    const next = new Promise<Progress>((resolve) => {
      this.#waiting = resolve
    })
    return bounded(next, () => 'progress of a regeneration')
  }

  /** Unread steps. */
  unread(): Progress[] {
    return this.#progress.splice(0)
  }

  /** SIGKILL: nothing of the process runs after this. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended()
  }

  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    await this.#ended()
  }

  async #ended(): Promise<void> {
    const { exitCode, signalCode } = this.#child
    if (exitCode === null && signalCode === null)
      await bounded(once(this.#child, 'exit'), () => 'the end of a node')
  }

  #send(order: Order): Promise<unknown> {
    const id = ++this.#orders
    const reply = this.#replyTo(id)
    this.#child.send({ id, order }, (error) => {
      if (error !== null) this.#fail(error)
    })
    return bounded(reply, () => `a reply to ${JSON.stringify(order)}`)
  }

  #replyTo(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => void this.#pending.set(id, { resolve, reject }))
  }

  #receive(message: Message): void {
    if ('progress' in message) {
      const waiting = this.#waiting
      this.#waiting = undefined
      if (waiting === undefined) this.#progress.push(message.progress)
      else waiting(message.progress)
      return
    }
    const { id, reply, error } = message
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (error === undefined) pending?.resolve(reply)
    else pending?.reject(new Error(error))
  }

  #fail(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }
}

export const shown = ({ state, text }: Answer): string => `${state} ${text}`

/** Time passes in all of them. */
export async function pass(nodes: readonly NodeProcess[], seconds: number): Promise<void> {
  await Promise.all(nodes.map((node) => node.order({ do: 'pass', seconds })))
}

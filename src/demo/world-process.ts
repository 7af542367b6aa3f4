/** The process of the demo's database and viewers, seen from the demo. */
import { fork } from 'node:child_process'
import { extname, join } from 'node:path'
import type { FromDatabase, ToWorld } from './messages.ts'
import type { Picture } from './tally.ts'

const worldFile = join(import.meta.dirname, `world${extname(import.meta.filename)}`)

export class WorldProcess {
  readonly databaseUrl: Promise<string>
  readonly #child
  readonly #exited: Promise<void>
  /** Pictures come in the order in which they were requested. */
  readonly #waiting: ((picture: Picture) => void)[] = []

  constructor(seed: number) {
    this.#child = fork(worldFile, [String(seed)], { serialization: 'advanced' })
    this.#exited = new Promise((resolve) => this.#child.once('exit', () => resolve()))
    const listening = Promise.withResolvers<string>()
    this.databaseUrl = listening.promise
    this.#child.on('message', (message) => {
      const told = message as FromDatabase
      if (told.kind === 'listening') listening.resolve(told.url)
      else this.#waiting.shift()?.(told.picture)
    })
    void this.#exited.then(() => listening.reject(new Error('the database of the demo ended')))
    listening.promise.catch(() => {})
  }

  send(message: ToWorld): void {
    if (this.#child.connected) this.#child.send(message)
  }

  picture(): Promise<Picture> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.send({ kind: 'picture' })
    })
  }

  async close(): Promise<void> {
    this.send({ kind: 'end' })
    await this.#exited
  }
}

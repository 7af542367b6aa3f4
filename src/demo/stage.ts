/** Assembles the demo from three processes: this one shows it, one is the proxy, one has the database and the viewers. */
import { fork } from 'node:child_process'
import { extname, join } from 'node:path'
import { usualViewers } from './crowd.ts'
import type { FromDatabase, ToWorld } from './messages.ts'
import { startProduct } from './product.ts'
import type { Picture } from './tally.ts'
import type { DemoSetup } from './view.ts'

export interface StageOptions {
  readonly seed: number
  /** Without it the usual address, or any free one where that is taken. */
  readonly listen?: string
}

export interface Stage {
  readonly setup: DemoSetup
  picture(): Promise<Picture>
  close(): Promise<void>
}

export async function openStage({ seed, listen }: StageOptions): Promise<Stage> {
  const world = new World(seed)
  try {
    const product = await startProduct(await world.databaseUrl, listen)
    world.send({ kind: 'begin', proxyUrl: product.url, proxyPid: product.pid })
    return {
      setup: { proxyUrl: product.url, adminUrl: product.admin, dashboards: usualViewers },
      picture: () => world.picture(),
      async close() {
        await world.close()
        await product.close()
      },
    }
  } catch (error) {
    await world.close()
    throw error
  }
}

const worldFile = join(import.meta.dirname, `world${extname(import.meta.filename)}`)

/** The process of the database and the viewers. */
class World {
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

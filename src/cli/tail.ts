/** `windowpane tail`: decisions as they are made, one line each, until it is stopped. */
import {
  type AdminClient,
  adminFlags,
  fetchAdmin,
  findAdmin,
  parametersOf,
  refusalOf,
  unreachable,
} from './admin-client.ts'
import { type Command, type CommandIo, expectNoMore, type Given, Misuse } from './command.ts'
import { readEvents, type ServerEvent } from './events.ts'
import { exitCode, type Failure } from './exit-codes.ts'
import { type TailRequest, tailLine } from './tail-text.ts'
import { oneLine } from './text.ts'

const words = {
  name: 'tail',
  summary: 'follow decisions live, with the cached part of each window',
  synopsis: '[--outcome X] [--reason X] [options]',
  examples: [
    'windowpane tail',
    'windowpane tail --outcome miss,bypass',
    'windowpane tail --backend main --json | jq .shape',
  ],
  about: `The bar is the window of the request: cached beginning, fetched end. It waits for a
proxy that restarts. With --json every line is an object.`,
  flags: [
    { name: 'outcome', value: 'LIST', about: 'hit, partial, miss, stale, bypass, refused, error' },
    { name: 'reason', value: 'LIST', about: 'docs/reference/outcomes.md lists them' },
    { name: 'backend', value: 'NAME', about: 'only this database' },
    { name: 'shape', value: 'TEXT', about: 'only shapes that contain this' },
    { name: 'min-ms', value: 'N', about: 'only requests of at least this many milliseconds' },
    ...adminFlags,
  ],
  exits: [exitCode.failed, exitCode.unreachable],
} as const

async function run(given: Given, io: CommandIo): Promise<number> {
  expectNoMore(given.positionals)
  const minMs = given.flag('min-ms')
  if (minMs !== undefined && !/^\d+(?:\.\d+)?$/.test(minMs))
    throw new Misuse(`--min-ms ${oneLine(minMs)}: expected a number of milliseconds`)
  const admin = await findAdmin(given, io)
  const filters = ['outcome', 'reason', 'backend', 'shape']
  const parameters = parametersOf(given, filters, minMs === undefined ? {} : { minMs })
  await new Follower(admin, `/-/requests${parameters}`, given.has('json')).follow()
  return exitCode.ok
}

const firstPauseMs = 250
const longestPauseMs = 5_000

class Follower {
  readonly #admin: AdminClient
  readonly #path: string
  readonly #isJson: boolean
  readonly #stop = new AbortController()
  #lastId = ''
  #hasBegun = false
  #pauseMs = firstPauseMs

  constructor(admin: AdminClient, path: string, isJson: boolean) {
    this.#admin = admin
    this.#path = path
    this.#isJson = isJson
  }

  /** Until the user stops it. @throws Failure where it could not begin. */
  async follow(): Promise<void> {
    const { signal } = this.#stop
    const release = this.#admin.io.onInterrupt(() => this.#stop.abort())
    try {
      while (!signal.aborted) {
        const failure = await this.#read()
        if (signal.aborted) return
        if (failure !== undefined && !this.#hasBegun) throw failure
        await this.#pause(failure)
      }
    } finally {
      release()
    }
  }

  /** Resolves when the connection ends, with the reason where it did not come about. */
  async #read(): Promise<Failure | undefined> {
    const { url, io } = this.#admin
    const headers = {
      accept: 'text/event-stream',
      ...(this.#lastId !== '' && { 'last-event-id': this.#lastId }),
    }
    try {
      const answer = await fetchAdmin(this.#admin, this.#path, { headers, signal: this.#stop.signal })
      if (answer.status !== 200) return refusalOf({ status: answer.status, text: await answer.text() })
      if (this.#pauseMs > firstPauseMs) io.err('windowpane: connected again\n')
      this.#hasBegun = true
      this.#pauseMs = firstPauseMs
      for await (const event of readEvents(answer.body!)) await this.#show(event)
      return undefined
    } catch (error) {
      return unreachable(url, error)
    }
  }

  async #show({ id, name, data }: ServerEvent): Promise<void> {
    const { io } = this.#admin
    if (id !== '') this.#lastId = id
    if (name === 'skipped') {
      const { count } = JSON.parse(data) as { count: number }
      io.err(`windowpane: ${count} more were answered and are not shown: too many at once\n`)
    } else if (name === 'request') {
      io.out(`${this.#isJson ? data : tailLine(JSON.parse(data) as TailRequest, io)}\n`)
      await io.drained()
    }
  }

  #pause(failure: Failure | undefined): Promise<void> {
    const { clock, err } = this.#admin.io
    if (this.#pauseMs === firstPauseMs)
      err(`windowpane: ${failure?.message ?? 'the connection ended'}; trying again\n`)
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(longestPauseMs, 2 * pauseMs)
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = clock.after(pauseMs, resolve)
    const { signal } = this.#stop
    const stop = () => resolve()
    signal.addEventListener('abort', stop)
    return promise.finally(() => {
      timer.cancel()
      signal.removeEventListener('abort', stop)
    })
  }
}

export const tail: Command = { words, run }

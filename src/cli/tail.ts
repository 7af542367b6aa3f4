/** `windowpane tail`: decisions as they are made, one line each, until it is stopped. */
import { type AdminAddress, adminFlags, bearer, findAdmin, refusalOf, unreachable } from './admin-client.ts'
import { fetchAdmin } from './admin-fetch.ts'
import { type Command, type CommandIo, complain, type Given, misuse } from './command.ts'
import { readEvents } from './events.ts'
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

const filters = {
  outcome: 'outcome',
  reason: 'reason',
  backend: 'backend',
  shape: 'shape',
  'min-ms': 'minMs',
}

async function run(given: Given, io: CommandIo): Promise<number> {
  if (given.positionals.length > 0) return misuse(words, `"${given.positionals[0]}" is not understood`, io)
  const minMs = given.flag('min-ms')
  if (minMs !== undefined && !/^\d+(?:\.\d+)?$/.test(minMs))
    return misuse(words, `--min-ms ${oneLine(minMs)}: expected a number of milliseconds`, io)
  const address = await findAdmin(given, io)
  if ('code' in address) return complain(io, address)
  const parameters = new URLSearchParams()
  for (const [flag, name] of Object.entries(filters)) {
    if (given.has(flag)) parameters.set(name, given.flag(flag)!)
  }
  const follower = new Follower(address, `/-/requests?${parameters}`, { io, isJson: given.has('json') })
  const failure = await follower.follow()
  return failure === undefined ? exitCode.ok : complain(io, failure)
}

const firstPauseMs = 250
const longestPauseMs = 5_000

class Follower {
  readonly #address: AdminAddress
  readonly #path: string
  readonly #io: CommandIo
  readonly #isJson: boolean
  readonly #stop = new AbortController()
  #lastId = ''
  #hasBegun = false
  #pauseMs = firstPauseMs

  constructor(address: AdminAddress, path: string, { io, isJson }: { io: CommandIo; isJson: boolean }) {
    this.#address = address
    this.#path = path
    this.#io = io
    this.#isJson = isJson
  }

  /** Until the user stops it; a failure where it could not begin. */
  async follow(): Promise<Failure | undefined> {
    const release = this.#io.onInterrupt(() => this.#stop.abort())
    try {
      while (!this.#stop.signal.aborted) {
        const failure = await this.#read()
        if (this.#stop.signal.aborted) return undefined
        if (failure !== undefined && !this.#hasBegun) return failure
        await this.#pause(failure)
      }
      return undefined
    } finally {
      release()
    }
  }

  /** Resolves when the connection ends, with the reason where it did not come about. */
  async #read(): Promise<Failure | undefined> {
    const { url, token } = this.#address
    const headers = {
      accept: 'text/event-stream',
      ...bearer(token),
      ...(this.#lastId !== '' && { 'last-event-id': this.#lastId }),
    }
    try {
      const answer = await fetchAdmin(url, this.#path, {
        headers,
        signal: this.#stop.signal,
        redirect: 'error',
      })
      if (answer.status !== 200) return refusalOf({ status: answer.status, text: await answer.text() })
      if (this.#pauseMs > firstPauseMs) this.#io.err('windowpane: connected again\n')
      this.#hasBegun = true
      this.#pauseMs = firstPauseMs
      for await (const event of readEvents(answer.body!)) await this.#show(event)
      return undefined
    } catch (error) {
      return unreachable(url, error)
    }
  }

  async #show({ id, name, data }: { id: string; name: string; data: string }): Promise<void> {
    if (id !== '') this.#lastId = id
    if (name === 'skipped') {
      const { count } = JSON.parse(data) as { count: number }
      this.#io.err(`windowpane: ${count} more were answered and are not shown: too many at once\n`)
    } else if (name === 'request') {
      const line = this.#isJson ? data : tailLine(JSON.parse(data) as TailRequest, this.#io)
      this.#io.out(`${line}\n`)
      await this.#io.drained()
    }
  }

  #pause(failure: Failure | undefined): Promise<void> {
    const { clock, err } = this.#io
    if (this.#pauseMs === firstPauseMs) {
      err(`windowpane: ${failure?.sentence ?? 'the connection ended'}; trying again\n`)
    }
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(longestPauseMs, 2 * pauseMs)
    return new Promise((resolve) => {
      const { signal } = this.#stop
      const finish = (): void => {
        timer.cancel()
        signal.removeEventListener('abort', finish)
        resolve()
      }
      const timer = clock.after(pauseMs, finish)
      signal.addEventListener('abort', finish)
    })
  }
}

export const tail: Command = { words, run }

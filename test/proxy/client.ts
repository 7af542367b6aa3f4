/** Clients over real sockets. Every answer's Cache-Status is checked on the way: parsed, and in the closed lists. */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { bypassReasons } from '../../src/backends/kinds.ts'
import {
  errorReasons,
  missReasons,
  type Outcome,
  outcomes,
  refusalReasons,
  staleReasons,
} from '../../src/core/decision.ts'
import { bounded } from '../wait.ts'
import { switchedOff } from './setup.ts'
import { type Parameters, parseItemList } from './structured-fields.ts'

export { steady, until } from '../wait.ts'

export interface Answer {
  readonly status: number
  /** Lower-case names, in order, repeated ones apart. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
}

export interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: Uint8Array | string
}

/** One request to a Windowpane, on a connection of its own. */
export async function ask(url: string, path: string, given: Ask = {}): Promise<Answer> {
  const answer = await askPlainly(url, path, given)
  checkStatus(answer)
  return answer
}

/**
 * Only requests that keep their connection open are read by the shortcut. Where a switch is off they do, so that the tests
 * of the proxy run with both kinds (switched-off.test.ts): but without pushed bodies, which are those of node:http.
 */
const isByNodeHttp = [undefined, 'pushedBodies'].includes(process.env[switchedOff])
const kept = isByNodeHttp ? {} : { Connection: 'keep-alive' }

/** The same to any server. */
export function askPlainly(url: string, path: string, given: Ask = {}): Promise<Answer> {
  const { port } = new URL(url)
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      host: '127.0.0.1',
      port,
      path,
      method: given.method ?? 'GET',
      agent: false,
      headers: { ...kept, ...given.headers } as Record<string, string | string[]>,
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const body = Buffer.concat(chunks)
        resolve({ status: response.statusCode!, headers: pairs(response.rawHeaders), body })
      })
    })
    request.end(given.body)
  })
}

function pairs(raw: readonly string[]): [string, string][] {
  const list: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) list.push([raw[i]!.toLowerCase(), raw[i + 1]!])
  return list
}

export const values = (answer: Answer, name: string): string[] =>
  answer.headers.filter(([key]) => key === name).map(([, value]) => value)

export const header = (answer: Answer, name: string): string | undefined => values(answer, name)[0]

export interface Status {
  readonly outcome: Outcome
  readonly reason: string | undefined
  readonly asked: number | undefined
  readonly parameters: Parameters
}

const reasonsOf: Record<Outcome, object> = {
  hit: {},
  partial: missReasons,
  miss: missReasons,
  stale: staleReasons,
  bypass: bypassReasons,
  refused: refusalReasons,
  error: errorReasons,
}

/** Windowpane's own Cache-Status, the last one. */
export function statusOf(answer: Answer): Status {
  const [name, parameters] = parseItemList(values(answer, 'cache-status').at(-1) ?? '').at(-1)!
  assert.equal(name, 'windowpane')
  const detail = String(parameters.get('detail'))
  const [outcome, reason] = detail.split(' ')[0]!.split('/') as [Outcome, string | undefined]
  const asked = / asked=(\d+)/.exec(detail)?.[1]
  return { outcome, reason, asked: asked === undefined ? undefined : Number(asked), parameters }
}

/** `hit`, `miss/absent` … */
export function outcomeOf(answer: Answer): string {
  const { outcome, reason } = statusOf(answer)
  return reason === undefined ? outcome : `${outcome}/${reason}`
}

function checkStatus(answer: Answer): void {
  const { outcome, reason } = statusOf(answer)
  assert.ok(outcomes.includes(outcome), `outcome ${outcome}`)
  if (outcome === 'hit') assert.equal(reason, undefined)
  else assert.ok(Object.hasOwn(reasonsOf[outcome], reason ?? ''), `reason ${outcome}/${reason}`)
}

export interface RawClient {
  readonly socket: Socket
  /** Everything received so far. */
  received(): Buffer
  write(text: string | Uint8Array): void
  /** Resolves when the received text contains the text. @throws when the connection is closed without. */
  has(text: string): Promise<void>
  /** Resolves with everything when the other side has closed. */
  readonly closed: Promise<Buffer>
}

/** A connection on which the test writes every byte itself. */
export async function rawClient(url: string): Promise<RawClient> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await new Promise((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.on('error', () => {})
  const received = () => Buffer.concat(chunks)
  const closed = new Promise<Buffer>((resolve) => socket.once('close', () => resolve(received())))
  const has = (text: string) => {
    const found = new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!received().includes(text)) return
        socket.off('data', look)
        resolve()
      }
      socket.on('data', look)
      look()
      void closed.then(() => reject(new Error(`closed without ${JSON.stringify(text)}: ${received()}`)))
    })
    return bounded(found, () => `${JSON.stringify(text)} in ${received()}`)
  }
  return { socket, received, write: (text) => void socket.write(text), has, closed }
}

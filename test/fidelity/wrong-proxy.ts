/** Proxies with a known fault, to show that the suite notices it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'
import type { UnderTest } from './under-test.ts'

export interface Fault {
  /** Changes the query to the database: the search part of a URL or a form. */
  readonly question?: (params: URLSearchParams) => void
  /** Changes the client's answer. */
  readonly answer?: (body: string) => string
}

/** Forwards everything, and claims a full hit if `claim` is set to it. */
export async function startWrongProxy(upstream: string, fault: Fault, claim: string): Promise<UnderTest> {
  const server = createServer((incoming, outgoing) => {
    forward({ upstream, fault, claim }, incoming, outgoing).catch((error) => outgoing.destroy(error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Setting {
  readonly upstream: string
  readonly fault: Fault
  readonly claim: string
}

async function forward(setting: Setting, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const url = new URL(incoming.url ?? '/', setting.upstream)
  setting.fault.question?.(url.searchParams)
  const form = new URLSearchParams(Buffer.concat(await incoming.toArray()).toString())
  setting.fault.question?.(form)
  const isPost = incoming.method === 'POST'
  const answer = await request(url, {
    method: isPost ? 'POST' : 'GET',
    body: isPost ? form.toString() : null,
    headers: isPost ? { 'content-type': 'application/x-www-form-urlencoded' } : {},
  })
  const text = await answer.body.text()
  for (const name of ['content-type', 'vary']) {
    const value = answer.headers[name]
    if (value !== undefined) outgoing.setHeader(name, value)
  }
  outgoing.setHeader('cache-status', `windowpane; detail="${setting.claim}"`)
  outgoing.statusCode = answer.statusCode
  outgoing.end(answer.statusCode === 200 ? (setting.fault.answer?.(text) ?? text) : text)
}

/** A tail that is off by one: the last value of the first series is lost. */
export const dropsLastPoint = (body: string): string =>
  body.replace(/("values":\[(?:\[[^\]]*\],)*)\[[^\]]*\]\]/, (_, kept: string) => `${kept.replace(/,$/, '')}]`)

/** A merge that loses the order of the first two series. */
export function swapsSeries(body: string): string {
  const opening = body.indexOf('"result":[') + '"result":['.length
  const parts = body.slice(opening, body.lastIndexOf(']')).split(/,(?=\{"metric":)/)
  const [first, second, ...rest] = parts
  if (first === undefined || second === undefined) return body
  return body.slice(0, opening) + [second, first, ...rest].join(',') + body.slice(body.lastIndexOf(']'))
}

/** The usual mistake: a range aligned to its step, which moves every point. */
export function floorsStart(params: URLSearchParams): void {
  const [start, step] = [Number(params.get('start')), Number(params.get('step'))]
  if (params.has('start') && start > 0 && step > 0)
    params.set('start', String(Math.floor(start / step) * step))
}

/** A cache that keeps the data and forgets its annotations. */
export const dropsAnnotations = (body: string): string => body.replace(/,"(?:warnings|infos)":\[.*\]\}$/, '}')

/** A listening socket: opened with a clear error, closed by draining. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { Budget } from '../../core/budget.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import type { CutReason } from '../../core/decision.ts'
import { createServer } from '../../core/node-http.ts'
import { allOn, type RuntimeSwitches, replaceHttpReader } from '../../core/runtime.ts'
import type { Limits } from '../limits.ts'
import { AddressCounts } from './addresses.ts'
import { Arrivals } from './arrivals.ts'
import { bind } from './bind.ts'
import { GatheredMessage, type HttpRequest, StreamedMessage } from './body.ts'
import { Connections, type EndingResponse, noShortcut } from './connections.ts'
import type { ClientRequest, Reply } from './exchange.ts'
import { HeadTurns } from './head-turns.ts'
import { type SecureListener, secureListener } from './listener-tls.ts'
import { writeRefusal } from './refusal.ts'
import { Shortcut, type ShortcutOptions } from './shortcut.ts'

export interface Listener {
  /** `http://host:port`, `https://…` or `unix:/path`. */
  readonly url: string
  /** Refuses new connections, lets requests under way finish within the drain limit, then cuts them off. */
  close(): Promise<void>
}

export interface ListenerOptions {
  /** host:port, where port 0 takes a free one, or unix:/path. */
  readonly address: string
  /** The flag that chooses the address, for messages; `--listen` where it is not given. */
  readonly flag?: string
  readonly limits: Limits
  readonly clock: Clock
  /** All on where it is not given. */
  readonly runtime?: RuntimeSwitches
  /** Other threads listen on the same address. */
  readonly reusePort?: boolean
  /** Files with certificate chain and key; they are read again when they change. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Why the current content of those files is not in force; undefined where it is. Called when that changes. */
  readonly onCertificate?: (error: string | undefined) => void
  /** Counts the received bytes of incomplete requests; of this listener alone by default. */
  readonly arrivals?: Arrivals
  /** Called for every connection that is closed because of a limit. */
  readonly onCut?: (reason: CutReason) => void
}

export type Answerer = (request: HttpRequest, response: ServerResponse) => void
type AnswerPlain = (request: ClientRequest, reply: Reply) => void

/** `answerPlain`: takes plain requests, which are then read past node:http. */
export async function openListener(
  options: ListenerOptions,
  answer: Answerer,
  answerPlain?: AnswerPlain,
): Promise<Listener> {
  const { limits, clock, onCut } = options
  const { server, stop } = serverOf(options)
  server.maxConnections = limits.maxConnections
  server.on('drop', () => onCut?.('connections'))
  const connections = new Connections(clock, { ...limits, onCut })
  const sockets = socketsOf(server, new AddressCounts(limits.maxConnectionsPerAddress), onCut)
  addConnections({ server, connections }, options, answerPlain)
  answerRequests({ server, connections }, answer)
  const { url, release } = await bind(server, options).catch((error) => {
    stop()
    throw error
  })
  return {
    url,
    async close() {
      stop()
      await release()
      const destroyAll = () => {
        for (const socket of sockets) socket.destroy()
      }
      await drain(server, connections, clock.after(limits.drainMs, destroyAll))
    },
  }
}

function serverOf({ limits, clock, tls, runtime = allOn, onCertificate }: ListenerOptions) {
  const IncomingMessage = runtime.pushedBodies ? GatheredMessage : StreamedMessage
  const options = { ...withoutTimers, maxHeaderSize: limits.maxHeaderBytes, IncomingMessage }
  if (tls === undefined) return { server: createServer(options), stop() {} }
  // Node waits for a handshake for two minutes, whatever the limits are.
  const handshakeTimeout = Math.min(handshakeMs, limits.requestTimeoutMs)
  return secureListener({ ...tls, clock, onCertificate }, { ...options, handshakeTimeout })
}

/** Connections, each with a shortcut in front of node:http where plain requests are read past it. */
function addConnections(
  { server, connections }: Front,
  options: ListenerOptions,
  answerPlain?: AnswerPlain,
): void {
  const { limits, clock, tls, runtime = allOn } = options
  const { maxHeaderBytes } = limits
  const arrivals = options.arrivals ?? new Arrivals(new Budget(limits.memoryBytes), maxHeaderBytes)
  const headTurns = new HeadTurns()
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    if (socket.destroyed) return
    const begin =
      answerPlain &&
      ((request: ClientRequest, reply: Reply) => {
        connections.began(socket, arrived, reply)
        if (!server.listening) closeAfter(connections, reply)
        answerPlain(request, reply)
      })
    const arrival = arrivals.begin(() => connections.cut(socket, 'incomplete_memory'))
    const shortcut = runtime.shortcut
      ? shortcutOf(socket, { clock, maxHeaderBytes, begin, arrival, headTurns })
      : undefined
    connections.add(socket, shortcut ?? noShortcut)
  })
}

/** The requests that node:http reads. */
function answerRequests({ server, connections }: Front, answer: Answerer): void {
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    if (response.socket === null) connections.waits(request.socket, response)
    if (connections.shortcutOf(request.socket)?.adopt(request, response)) return
    connections.began(request.socket, request, response)
    if (!server.listening) closeAfter(connections, response)
    answer(request as HttpRequest, response)
  }
  server.on('request', onRequest)
  server.on('checkContinue', (request, response) => {
    continueInTurn(response, connections.lastOn(request.socket))
    onRequest(request, response)
  })
}

/**
 * Connections looks after slow and idle clients, at no cost per request. The timers of node:http must stay off: it would take a
 * connection whose requests are all read by the shortcut for one that never sent a head.
 */
const withoutTimers = {
  requestTimeout: 0,
  headersTimeout: 0,
  keepAliveTimeout: 0,
  connectionsCheckingInterval: 24 * 3_600_000,
  optimizeEmptyRequests: true,
}

const handshakeMs = 10_000

/**
 * Requests the body of a request with `Expect: 100-continue`. Where its response waits behind others, that is done in
 * its turn: node:http would write the 100 between the head and the body of the response.
 */
function continueInTurn(response: ServerResponse, before: EndingResponse | undefined): void {
  if (response.socket !== null || before === undefined) response.writeContinue()
  else {
    before.once('close', () => {
      if (!response.headersSent) response.writeContinue()
    })
  }
}

/** A plain request, as a connection remembers it: without its body. */
const arrived = { complete: true }

/** Puts a shortcut in front of node:http's reader; undefined where that cannot be done. */
function shortcutOf(socket: Socket, options: ShortcutOptions): Shortcut | undefined {
  const receive = (bytes: Buffer) => shortcut?.receive(bytes)
  const httpReader = replaceHttpReader(socket, receive, () => shortcut?.ended())
  const shortcut = httpReader && new Shortcut(socket, options, httpReader)
  if (shortcut === undefined) return undefined
  socket.once('close', () => shortcut.closed())
  return shortcut
}

/** Those too that are still agreeing on TLS: node:http does not know them, and waits for them all the same. */
function socketsOf(
  server: AnyServer,
  addresses: AddressCounts,
  onCut: ((reason: CutReason) => void) | undefined,
): ReadonlySet<Socket> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    // Clients of a unix socket have none: usually it is one reverse proxy, with the connections of many.
    const address = socket.remoteAddress
    if (address !== undefined && !addresses.enter(address)) {
      onCut?.('connections_per_address')
      if (!('setSecureContext' in server)) writeRefusal(socket, 'connections_per_address')
      socket.destroy()
      return
    }
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      if (address !== undefined) addresses.leave(address)
    })
  })
  return sockets
}

type AnyServer = Server | SecureListener['server']

interface Front {
  readonly server: AnyServer
  readonly connections: Connections
}

/** New connections are refused, idle ones closed, busy ones given time. */
function drain(server: AnyServer, connections: Connections, timer: Timer): Promise<void> {
  return new Promise((resolve) => {
    // Not the close of node:http, which cuts off connections that it takes for idle: it does not know of requests on a
    // shortcut.
    NetServer.prototype.close.call(server, () => {
      timer.cancel()
      connections.stop()
      // Its own housekeeping ends too; that it does not listen any more is no news.
      server.close(() => {})
      resolve()
    })
    connections.closeIdle()
    for (const response of connections.answering()) closeAfter(connections, response)
  })
}

/** During the drain a connection that has had its answer is of no more use. */
function closeAfter(connections: Connections, response: EndingResponse): void {
  response.once('close', () => connections.closeIdle())
}

/** A proxy that caches whole answers of a real Druid, and a record of the queries between them. Time is moved. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Agent, request } from 'undici'
import { druid as druidBackend } from '../../src/backends/druid/index.ts'
import { usualWholeSettings } from '../../src/engine/objects/whole-terms.ts'
import { type ProxyServer, startServer } from '../../src/proxy/assembly/server.ts'
import { limitsOf } from '../../src/proxy/limits.ts'
import type { Settings } from '../../src/proxy/request/settings.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'
import { ladder } from '../../src/ttl/ladder.ts'
import { type OutcomeSeen, outcomeOf } from '../fidelity/client.ts'
import { until } from '../wait.ts'
import { type Relay, startRelay } from './relay.ts'

const minute = 60_000
const hour = 60 * minute

export const watched = { everyMs: 30 * minute, patienceMs: 65 * minute, maxAgeMs: 24 * hour }

export interface Seen extends OutcomeSeen {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** How often Druid was queried for it. */
  readonly questions: number
}

export class WholeVisit {
  readonly clock: FakeClock
  readonly relay: Relay
  readonly #proxy: ProxyServer

  private constructor(clock: FakeClock, relay: Relay, proxy: ProxyServer) {
    this.clock = clock
    this.relay = relay
    this.#proxy = proxy
  }

  /** With `isWatched`, it has looked at the segments twice. */
  static async start(t: TestContext, brokerUrl: string, { isWatched = false } = {}): Promise<WholeVisit> {
    const clock = fakeClock(Date.UTC(2026, 5, 1))
    const relay = await startRelay(t, brokerUrl)
    const limits = limitsOf()
    const { maxStaleMs } = limits
    const settings: Settings = {
      terms: { mode: 'on', identity: 'shared', policy: ladder(), maxStaleMs },
      rules: [],
      whole: usualWholeSettings,
    }
    const proxy = await startServer({
      ...{ listen: '127.0.0.1:0', limits, clock },
      databases: [
        {
          ...{ name: 'druid', backend: druidBackend({ maxBuckets: 10_000 }) },
          ...{ upstream: { urls: [relay.url] }, settings: () => settings },
          ...(isWatched && { segments: watched }),
        },
      ],
    })
    const visit = new WholeVisit(clock, relay, proxy)
    t.after(() => visit.#close())
    if (isWatched) {
      await until(() => visit.figures.viewAt !== undefined)
      await visit.look()
    }
    return visit
  }

  get figures() {
    return this.#proxy.databases[0]!.segments!
  }

  /** Moves time to the next poll, and waits for its result. */
  async look(): Promise<void> {
    const { looks } = this.figures
    await this.clock.advance(watched.everyMs)
    await until(() => this.figures.looks > looks)
    // An answer generated at the same instant may have been generated before.
    await this.clock.advance(1)
  }

  async ask({ path, body }: { readonly path: string; readonly body: object }): Promise<Seen> {
    const before = this.#questions
    // Connections do not outlive the hours that pass.
    const dispatcher = new Agent({ pipelining: 0 })
    const headers = { 'content-type': 'application/json' }
    const options = { dispatcher, method: 'POST', headers, body: JSON.stringify(body) } as const
    const answer = await request(`${this.#proxy.url}${path}`, options)
    const text = await answer.body.text()
    await dispatcher.close()
    const given = Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(', ')])
    const seen = {
      status: answer.statusCode,
      headers: Object.fromEntries(given) as Record<string, string>,
      body: Buffer.from(text),
    }
    return { ...seen, text, ...outcomeOf(seen), questions: this.#questions - before }
  }

  /** An answer of status 200. */
  async view(asked: { readonly path: string; readonly body: object }): Promise<Seen> {
    const seen = await this.ask(asked)
    assert.equal(seen.status, 200, seen.text)
    return seen
  }

  /** Those of clients; the look at the segments is none. */
  get #questions(): number {
    return this.relay.seen.filter(({ body }) => !body.includes('sys.segments')).length
  }

  async #close(): Promise<void> {
    const closing = this.#proxy.close()
    await this.clock.advance(hour)
    await closing
  }
}

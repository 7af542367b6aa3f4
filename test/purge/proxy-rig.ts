/** The command as a process with an admin listener that may be written to, and a client of both. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { adminAddress, type Child, readyAddress, startCommand } from '../cli/child.ts'
import { type Answer, ask, askPlainly, until } from '../proxy/client.ts'
import { type Range, rangePath } from '../proxy/matrix.ts'

export interface Purged {
  readonly dryRun: boolean
  readonly at: string
  readonly shapes: number
  readonly buckets: number
  readonly durable?: boolean
  readonly note?: string
  readonly selection: Readonly<Record<string, unknown>>
  readonly examples: readonly { key: string; text: string; backend: string; buckets: number }[]
}

export class ProxyRig {
  readonly #url: string
  readonly #admin: string
  readonly #child: Child

  constructor(child: Child, url: string, admin: string) {
    this.#child = child
    this.#url = url
    this.#admin = admin
  }

  get log(): string {
    return this.#child.err()
  }

  ask(range: Range, path = ''): Promise<Answer> {
    return ask(this.#url, `${path}${rangePath(range)}`)
  }

  async get<T>(path: string): Promise<T> {
    const { status, body } = await askPlainly(this.#admin, path)
    assert.equal(status, 200, body.toString())
    return JSON.parse(body.toString()) as T
  }

  count(selection: object): Promise<Purged> {
    return this.#post('/-/purge?dryRun=1', selection)
  }

  /** Data fetched in the same millisecond is not kept: wait for the next one. */
  async purge(selection: object): Promise<Purged> {
    const report = await this.#post('/-/purge', selection)
    await until(() => systemClock.now() > Date.parse(report.at))
    return report
  }

  async stop(): Promise<void> {
    this.#child.process.kill('SIGTERM')
    assert.equal(await this.#child.exit, 0)
  }

  async #post(path: string, selection: object): Promise<Purged> {
    const body = JSON.stringify(selection)
    const answer = await askPlainly(this.#admin, path, { method: 'POST', body })
    assert.equal(answer.status, 200, answer.body.toString())
    return JSON.parse(answer.body.toString()) as Purged
  }
}

export async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'windowpane-purge-'))
  t.after(() => rm(made, { recursive: true, force: true }))
  return made
}

/** `backends` is YAML; `store` is a directory for a durable store, named `disk`. */
export async function openServer(t: TestContext, backends: string, store?: string): Promise<ProxyRig> {
  const file = join(await folder(t), 'windowpane.yaml')
  const stores =
    store === undefined ? '' : `stores:\n  disk: { type: lmdb, path: ${store}, size: 64MB, reserve: 0B }\n`
  const admin = 'listen: 127.0.0.1:0\nadmin: { listen: "127.0.0.1:0", allowWrites: true }\n'
  await writeFile(file, `${admin}telemetry: { logFormat: json }\n${stores}backends:\n${backends}`)
  const child = startCommand(t, ['--config', file])
  const url = await readyAddress(child)
  return new ProxyRig(child, url, await adminAddress(child))
}

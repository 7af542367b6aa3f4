/** Two equal databases and the upstream half of a Windowpane in front of them. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Database, pass, type Rig, startDatabase, startUpstream } from './proxy-rig.ts'

export interface Two extends Rig {
  readonly a: Database
  readonly b: Database
}

export async function startTwo(t: TestContext, given = {}): Promise<Two> {
  const [a, b] = [await startDatabase(t), await startDatabase(t)]
  return { a, b, ...startUpstream(t, { url: [a.url, b.url], ...given }) }
}

export const health = ({ upstream }: Rig): boolean[] => upstream.upstreams().map(({ healthy }) => healthy)
export const counts = ({ a, b }: Two): number[] => [a.seen.length, b.seen.length]

export async function passMany({ upstream }: Rig, count: number): Promise<void> {
  for (let i = 0; i < count; i++) assert.equal((await pass(upstream)).status, 200)
}

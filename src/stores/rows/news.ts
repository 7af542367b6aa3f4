/** The messages of nodes that share a store after a write: the node, the key and the buckets. */
import type { Interval } from '../../core/interval.ts'
import { jsonIn } from '../../core/json-object.ts'
import type { Key } from '../../core/key.ts'

export interface News extends Interval {
  readonly node: string
  readonly key: Key
}

export const encodeNews = ({ node, key, from, to }: News): Buffer =>
  Buffer.from(JSON.stringify([node, key, from, to]))

/** Undefined for messages of another release, and for anything else that arrives on the same channel. */
export function decodeNews(bytes: Buffer): News | undefined {
  const given = jsonIn(bytes)
  const [node, key, from, to]: unknown[] = Array.isArray(given) ? given : []
  if (typeof node !== 'string' || typeof key !== 'string') return undefined
  return Number.isSafeInteger(from) && Number.isSafeInteger(to)
    ? { node, key, from: from as number, to: to as number }
    : undefined
}

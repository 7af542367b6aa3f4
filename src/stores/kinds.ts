/** The stores that there are: one file or folder and one line each. */
import { cassandraKind } from './cassandra/kind.ts'
import { dynamoDbKind } from './dynamodb/kind.ts'
import type { StoreKind } from './kind.ts'
import { lmdbKind } from './lmdb/kind.ts'
import { memoryKind } from './memory/kind.ts'
import { redisKind } from './redis/kind.ts'

export const storeKinds = {
  memory: memoryKind,
  lmdb: lmdbKind,
  redis: redisKind,
  cassandra: cassandraKind,
  dynamodb: dynamoDbKind,
} as const satisfies Readonly<Record<string, StoreKind>>

export type StoreKindName = keyof typeof storeKinds

export const storeKindNames = Object.keys(storeKinds) as readonly StoreKindName[]

/** The kind of a configured store, whose keys it takes. */
export const kindOfStore = ({ type }: { readonly type: StoreKindName }): StoreKind => storeKinds[type]

/**
 * Cells in Redis or Valkey, so that clients in other languages can read them:
 *
 *   PREFIX:cells:1:{PK}     sorted set: the `sk` of every cell, in byte order
 *   PREFIX:cells:1:{PK}:SK  hash: the members of a cell under the names below, its attributes under their own names
 *
 * Percent signs and braces in PK are percent-encoded. `ttl` is when a cell may be collected, in seconds since 1970; the
 * server removes it a little later. All other times are milliseconds.
 */
import { bufferOf } from '../../core/bytes.ts'
import { levelsIn, levelsText } from '../bucket-text.ts'
import { clocksFrom, namedClocks, reservedNames } from '../cell-names.ts'
import type { Cell, CellAttributes } from '../cells.ts'
import type { CellCommit, CellEngine } from '../rows/cell-engine.ts'
import type { Connection } from './connection.ts'
import type { Argument, RedisClient } from './library.ts'
import { type CellNames, cellNames } from './names.ts'

const maxValueBytes = 64 * 1024
/** Clocks of nodes and servers may differ by this: a node that still sees a cell as present must find it. */
const slackMs = 60_000

/** Attributes that are numbers; no attribute can have this name. */
const integersField = '#integers'

const ownFields: ReadonlySet<string> = new Set([...reservedNames, integersField])

export class RedisCells implements CellEngine {
  readonly name = 'redis'
  readonly capabilities = { shared: true, durable: false, maxValueBytes }
  readonly #connection: Connection
  readonly #names: CellNames

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection
    this.#names = cellNames(prefix)
  }

  load(pk: string, sks: readonly string[]): Promise<readonly (Cell | undefined)[]> {
    return this.#connection.run('read', (client) => this.#load(client, pk, sks))
  }

  list(pk: string): Promise<readonly (readonly [sk: string, cell: Cell])[]> {
    return this.#connection.run('read', async (client) => {
      const sks = (await client.zrangeBuffer(this.#names.list(pk), 0, -1)).map(String)
      const cells = await this.#load(client, pk, sks)
      const expired = sks.filter((_, i) => cells[i] === undefined)
      if (expired.length > 0) this.#tidy(client, pk, expired)
      return sks.flatMap((sk, i) => (cells[i] === undefined ? [] : [[sk, cells[i]] as const]))
    })
  }

  commit(pk: string, changes: readonly CellCommit[]): Promise<boolean> {
    const keys = [this.#names.list(pk), ...changes.map(({ sk }) => this.#names.cell(pk, sk))]
    const args = changes.flatMap(({ sk, expected, row }): Argument[] => {
      const fields = row === undefined ? [] : fieldsOf(row)
      return [sk, expected ?? '', row === undefined ? '' : endOf(row), fields.length, ...fields]
    })
    return this.#connection.run('write', async (client) => {
      return (await client.windowpaneCommit(keys.length, ...keys, ...args)) === 1
    })
  }

  /** The connection is closed with the rows. */
  async #load(client: RedisClient, pk: string, sks: readonly string[]): Promise<(Cell | undefined)[]> {
    return Promise.all(sks.map(async (sk) => cellOf(await client.hgetallBuffer(this.#names.cell(pk, sk)))))
  }

  /** No caller waits for it: names of expired cells only cost one read each. */
  #tidy(client: RedisClient, pk: string, sks: readonly string[]): void {
    const keys = [this.#names.list(pk), ...sks.map((sk) => this.#names.cell(pk, sk))]
    client.windowpaneTidy(keys.length, ...keys, ...sks).catch(() => {})
  }
}

const endOf = ({ collectAt }: Cell): Argument => (collectAt === 'never' ? '' : collectAt * 1000 + slackMs)

function fieldsOf(cell: Cell): Argument[] {
  const { kind, v, rev, value, levels, collectAt, clocks, attributes = {} } = cell
  const integers = Object.keys(attributes).filter((name) => typeof attributes[name] === 'number')
  const fields: readonly (readonly [string, Argument | undefined])[] = [
    ['kind', kind],
    ['v', v],
    ['rev', rev],
    ['value', bufferOf(value)],
    ['levels', levels && levelsText(levels)],
    ['ttl', collectAt === 'never' ? undefined : collectAt],
    ...namedClocks(clocks),
    ...Object.entries(attributes),
    [integersField, attributes === cell.attributes ? integers.join(' ') : undefined],
  ]
  return fields.flatMap(([name, field]) => (field === undefined ? [] : [name, field]))
}

/** Undefined where there is none. */
function cellOf(fields: Readonly<Record<string, Buffer>>): Cell | undefined {
  const { kind, v, rev, value, levels, ttl, [integersField]: integers } = fields
  if (kind === undefined || v === undefined || rev === undefined || value === undefined) return undefined
  return {
    kind: String(kind),
    v: Number(v),
    rev: String(rev),
    value: Uint8Array.from(value),
    collectAt: ttl === undefined ? 'never' : Number(ttl),
    clocks: clocksFrom((name) => (fields[name] === undefined ? undefined : Number(fields[name]))),
    ...(levels !== undefined && { levels: levelsIn(String(levels)) }),
    ...(integers !== undefined && { attributes: attributesOf(fields, String(integers).split(' ')) }),
  }
}

function attributesOf(fields: Readonly<Record<string, Buffer>>, integers: readonly string[]): CellAttributes {
  const names = Object.keys(fields).filter((name) => !ownFields.has(name))
  return Object.fromEntries(
    names.map((name) => [name, integers.includes(name) ? Number(fields[name]) : String(fields[name])]),
  )
}

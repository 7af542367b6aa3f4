/** Cassandra, or Scylla, as a kind of store. */
import { type Check, key, required, section, type TypeValue } from '../../config/definition.ts'
import { choice } from '../../config/scalars.ts'
import { text } from '../../config/text-scalars.ts'
import { certificateIsWhole, refusedTlsKeys } from '../../config/tls-check.ts'
import type { RefusedUrl, StoreKind, StoreUrl, UrlKeys } from '../kind.ts'
import { loginIn, loginKeys, notPercentEncoded, onePassword, restart, tlsKeys } from '../server-keys.ts'
import { definitionOf, replicationPattern } from './tables.ts'

const named = (label: string, expected: string, pattern: string): typeof text => ({
  ...text,
  ...{ label, expected, json: { type: 'string', pattern } },
  parse: (value) => (new RegExp(pattern).test(String(value)) ? String(value) : undefined),
})

const host = '(?:[\\w.-]+|\\[[0-9a-fA-F:.]+\\])(?::\\d{1,5})?'
const hosts = named('hosts', 'hosts, such as h1:9042,h2:9042', `^${host}(?:,${host})*$`)
const keyspaceName = named('keyspace', 'a keyspace: up to 48 letters, digits and _', '^[a-zA-Z]\\w{0,47}$')
const replication = named(
  'replication',
  'a number of copies, or such numbers by data centre, as in dc1:3,dc2:2',
  replicationPattern,
)

const passwordBelongsToUser: Check = {
  needs: ['username', 'password', 'passwordFile'],
  run({ username, password, passwordFile }: Credentials, report) {
    const hasPassword = password !== undefined || passwordFile !== undefined
    if (username !== undefined && !hasPassword) report('username', 'needs "passwordFile"')
    if (username === undefined && hasPassword) report('passwordFile', 'needs "username"')
  },
}

const cassandraSection = section(
  {
    hosts: required(
      hosts,
      'hosts of the first connection, which report all others; the default port is 9042',
      restart,
    ),
    keyspace: key(keyspaceName, 'windowpane', { meaning: 'the keyspace of the tables', ...restart }),
    dc: key(text, 'datacenter1', {
      meaning: 'the name of the local data centre: other ones are not queried',
      ...restart,
    }),
    replication: key(replication, '1', {
      meaning:
        'for `windowpane store init`: the copies of each row, or copies by data centre, as in `dc1:3,dc2:2`. Without names of data centres it is SimpleStrategy, which is for one data centre',
      ...restart,
    }),
    consistency: key(choice('local_one', 'one', 'local_quorum', 'quorum'), 'local_one', {
      meaning:
        'of reads and writes of buckets. A replica that lags behind costs a query, never a wrong answer. Cells are read and written with `local_serial` and `local_quorum`',
      ...restart,
    }),
    ...loginKeys,
    ...tlsKeys,
  },
  { checks: [certificateIsWhole, onePassword('password'), passwordBelongsToUser], refused: refusedTlsKeys },
)

export type CassandraConfig = TypeValue<typeof cassandraSection>
type Credentials = Pick<CassandraConfig, 'username' | 'password' | 'passwordFile'>

export const cassandraKind: StoreKind<CassandraConfig> = {
  schemes: ['cassandra', 'scylla'],
  urlForm: 'cassandra://HOST:9042,HOST:9042/KEYSPACE?dc=datacenter1',
  section: cassandraSection,
  readUrl: keysIn,
  isFar: true,
  isRemote: true,
  capabilities: { cells: true, ttl: 's', pubsub: false },
  timeoutMs: 500,
  placeOf: (config) => ({ key: 'hosts', place: `cassandra://${config.hosts}/${config.keyspace}` }),
  examine: async (config, clock) => (await import('./inspect.ts')).examineCassandra(config, clock),
  inspect: async (config, clock) => (await import('./inspect.ts')).inspectCassandra(config, clock),
  setup: {
    definition: ({ keyspace, replication: copies }) => definitionOf(keyspace, copies),
    create: async (config, clock) => (await import('./inspect.ts')).createTables(config, clock),
  },
  open: async (config, rules) => (await import('./index.ts')).openCassandraStore(config, rules),
}

/** `//user:password@host:port,host:port/keyspace`, user and password percent-encoded. */
function keysIn({ scheme, place }: StoreUrl): UrlKeys | RefusedUrl {
  const [, credentials, list = '', keyspace = ''] =
    /^\/\/(?:(.*)@)?([^/@]*)(?:\/([^/]*))?$/s.exec(place) ?? []
  if (list === '') return { refused: `names no host: expected ${scheme}://HOST:9042/KEYSPACE` }
  const login = loginIn(credentials ?? '')
  if (login === undefined) return { refused: notPercentEncoded }
  return {
    hosts: list,
    ...(keyspace !== '' && { keyspace }),
    ...login,
  }
}

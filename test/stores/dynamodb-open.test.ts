/** Opening, setting up and inspecting a DynamoDB store: missing tables are reported, and used as soon as they exist. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { runCommand } from '../../src/cli/command.ts'
import { store } from '../../src/cli/store.ts'
import { systemClock } from '../../src/core/clock.ts'
import { openDynamoDbStore } from '../../src/stores/dynamodb/index.ts'
import { type DynamoDbConfig, dynamoDbKind } from '../../src/stores/dynamodb/kind.ts'
import { configOf } from '../../src/stores/dynamodb/library.ts'
import { keysOfStoreUrl } from '../../src/stores/url.ts'
import { fakeIo } from '../cli/fake-io.ts'
import { requireServer } from '../data/fixture.ts'
import { startDynamoDb } from '../servers/dynamodb/dynamodb.ts'
import { eventually } from '../wait.ts'
import { hourMs, openStore, withDynamoDb } from './dynamodb-rig.ts'
import { entryOf, keyNumber } from './truth.ts'

const interval = { from: 0, to: 4 }
const setup = dynamoDbKind.setup!

await withDynamoDb('opening', ({ api, endpoint, table }) => {
  const configured = (name: string): DynamoDbConfig => ({ table: name, region: undefined, endpoint })

  test('missing tables degrade the store and name the remedy; once they are created it works', async () => {
    const config = configured('later')
    const opened = await openStore({ ...config })
    const { health } = opened.panes.figures()
    assert.deepEqual([health?.state, health?.trouble], ['degraded', 'not_set_up'])
    assert.match(health?.detail ?? '', /table later: ResourceNotFoundException.*windowpane store init/s)
    assert.match(opened.notice ?? '', /windowpane store init/)
    assert.equal(opened.panes.figures().refusedRequests, 2, 'the probes of both tables')
    const entry = entryOf(1, interval, systemClock.now())
    await assert.rejects(async () => opened.panes.write(keyNumber(1), entry), {
      name: 'ResourceNotFoundException',
    })
    await assert.rejects(opened.cells.get({ pk: 'p', sk: 's' }, 1), { name: 'ResourceNotFoundException' })
    assert.deepEqual(await dynamoDbKind.inspect(config, systemClock), {
      version: '2012-08-10',
      missing: ['later', 'later-cells'],
    })
    assert.deepEqual(await setup.create(config, systemClock), { created: ['later', 'later-cells'] })
    assert.equal(await opened.panes.write(keyNumber(1), entry), true)
    await opened.cells.get({ pk: 'p', sk: 's' }, 1)
    assert.deepEqual(opened.panes.figures().health, { state: 'ok' })
    await opened.close()
  })

  test('creating existing tables changes nothing, and completes incomplete ones', async () => {
    assert.deepEqual(await setup.create(configured(table), systemClock), { created: [] })
    assert.deepEqual(await dynamoDbKind.inspect(configured(table), systemClock), {
      version: '2012-08-10',
      missing: [],
    })
    const half = JSON.parse(setup.definition(configured('half'))).CreateTable[1]
    await api.createTable(half)
    assert.deepEqual(await setup.create(configured('half'), systemClock), { created: ['half'] })
    for (const TableName of ['half', 'half-cells']) {
      const { TimeToLiveDescription } = await api.describeTimeToLive({ TableName })
      assert.deepEqual(TimeToLiveDescription, { AttributeName: 'ttl', TimeToLiveStatus: 'ENABLED' })
      const { Table } = await api.describeTable({ TableName })
      assert.equal(Table?.BillingModeSummary?.BillingMode, 'PAY_PER_REQUEST')
    }
  })

  test('the printed definitions are the input of CreateTable and UpdateTimeToLive', async () => {
    const steps = JSON.parse(setup.definition(configured('printed')))
    for (const input of steps.CreateTable) {
      assert.equal(input.BillingMode, 'PAY_PER_REQUEST')
      await api.createTable(input)
    }
    for (const input of steps.UpdateTimeToLive) await api.updateTimeToLive(input)
    assert.deepEqual(await setup.create(configured('printed'), systemClock), { created: [] })
  })

  test('windowpane store init and check: created once, usable, and missing tables end with 1', async () => {
    const url = (name: string) => `dynamodb://${name}?region=local&endpoint=${endpoint}`
    const run = async (...argv: readonly string[]) => {
      const io = fakeIo()
      const code = await runCommand(store, [...argv, '--json'], io)
      const { definition = '', error, ...report } = JSON.parse(io.said.out)
      return { code, definition, error, report }
    }
    const capabilities = { cells: true, ttl: 's', pubsub: false }
    const usable = { ok: true, engine: 'dynamodb', version: '2012-08-10', capabilities, missing: [] }
    const before = await run('check', '--url', url('command'))
    assert.deepEqual(
      [before.code, before.error.code, before.report.missing],
      [1, 'not_set_up', ['command', 'command-cells']],
    )
    assert.match((await run('init', '--print', '--url', url('command'))).definition, /PAY_PER_REQUEST/)
    const first = await run('init', '--url', url('command'))
    assert.deepEqual(first.report, { ...usable, created: ['command', 'command-cells'] })
    for (const action of ['init', 'check']) {
      const { code, report } = await run(action, '--url', url('command'))
      assert.deepEqual([code, report], [0, { ...usable, created: [] }])
    }
  })

  test('a table of something else is refused, and left alone', async () => {
    const { CreateTable } = JSON.parse(setup.definition(configured('foreign')))
    await api.createTable({ ...CreateTable[1], TableName: 'foreign' })
    for (const outcome of [
      await setup.create(configured('foreign'), systemClock),
      await dynamoDbKind.inspect(configured('foreign'), systemClock),
    ])
      assert.match(
        'detail' in outcome ? outcome.detail : '',
        /foreign has the keys pk \(S\), sk \(S\) instead of/,
      )
  })

  test('the doctor reports that tables are missing, do not expire, or are fine', async () => {
    const statuses = async (name: string) =>
      (await dynamoDbKind.examine(configured(name), systemClock)).map(({ sentence, remedy }) => [
        sentence,
        remedy,
      ])
    assert.deepEqual(await statuses('nowhere'), [
      [
        'DynamoDB answers, but has no table nowhere and no table nowhere-cells.',
        'Create them: windowpane store init.',
      ],
    ])
    const fine = await statuses(table)
    assert.equal(fine.length, 1)
    assert.match(fine[0]![0]!, /^The tables are there; a read takes [\d.]+ ms/)
    const { CreateTable } = JSON.parse(setup.definition(configured('endless')))
    for (const input of CreateTable) await api.createTable(input)
    assert.deepEqual(
      (await statuses('endless')).slice(1).map(([text]) => text),
      [
        'The table endless does not expire its items: answers stay right, and it grows without end.',
        'The table endless-cells does not expire its items: answers stay right, and it grows without end.',
      ],
    )
  })
})

test('a server that is down at the start is used once it is up', async (t) => {
  const server = requireServer(t, await startDynamoDb())
  if (server === null) return
  t.after(() => server.stop())
  const { endpoint } = server
  process.kill(server.pid, 'SIGKILL')
  await eventually(
    () =>
      request(endpoint).then(
        () => true,
        () => false,
      ),
    (answers) => !answers,
  )
  const opened = await openStore({ endpoint, table: 'resurrected' })
  t.after(() => opened.close())
  const trouble = () => opened.panes.figures().health?.trouble
  assert.equal(trouble(), 'unreachable')
  assert.match(opened.notice ?? '', /ECONNREFUSED/)
  const entry = entryOf(1, interval, systemClock.now())
  await assert.rejects(async () => opened.panes.write(keyNumber(1), entry))
  await server.restart()
  await assert.rejects(async () => opened.panes.write(keyNumber(1), entry), {
    name: 'ResourceNotFoundException',
  })
  assert.equal(trouble(), 'not_set_up')
  const config = { table: 'resurrected', region: undefined, endpoint }
  assert.deepEqual(await setup.create(config, systemClock), { created: ['resurrected', 'resurrected-cells'] })
  assert.equal(await opened.panes.write(keyNumber(1), entry), true)
  assert.deepEqual(opened.panes.figures().health, { state: 'ok' })
})

test('without the SDK, or a region, the refusal has a remedy', async () => {
  const options = { clock: systemClock, table: 'any', retentionMs: hourMs }
  const missing = await openDynamoDbStore({
    ...options,
    library: () => Promise.reject(new Error('not found')),
  })
  assert.ok('refused' in missing)
  assert.equal(missing.remedy, 'npm install @aws-sdk/client-dynamodb@3.1162.0')
  const names = ['AWS_REGION', 'AWS_PROFILE', 'AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']
  const saved = names.map((name) => [name, process.env[name]] as const)
  for (const name of names) process.env[name] = '/nowhere'
  delete process.env['AWS_REGION']
  delete process.env['AWS_PROFILE']
  const refused = await openDynamoDbStore(options)
  for (const [name, value] of saved) if (value === undefined) delete process.env[name]
  assert.ok('refused' in refused)
  assert.deepEqual(
    [refused.refused, refused.remedy],
    ['no_region', 'add "region" to the store, or set AWS_REGION'],
  )
})

test('DynamoDB Local on loopback needs no credentials; configured ones are left to the SDK', () => {
  const connection = { region: undefined, endpoint: 'http://localhost:8000', timeoutMs: 500 }
  const local = configOf(connection, {})
  assert.deepEqual(local.credentials, { accessKeyId: 'local', secretAccessKey: 'local' })
  assert.equal(local.region, 'local')
  assert.equal(configOf({ ...connection, region: 'eu-west-1' }, {}).region, 'eu-west-1')
  for (const environment of [
    { AWS_PROFILE: 'x' },
    { AWS_ACCESS_KEY_ID: 'x', AWS_REGION: 'r' },
  ] as NodeJS.ProcessEnv[]) {
    const config = configOf(connection, environment)
    assert.deepEqual([config.credentials, config.region], [undefined, undefined])
  }
  for (const endpoint of [
    undefined,
    'https://dynamodb.eu-west-1.amazonaws.com',
    'http://127.0.0.1.example.org',
  ])
    assert.equal(configOf({ ...connection, endpoint }, {}).credentials, undefined)
})

test('URLs name the table, the region and the endpoint, encoded or not', () => {
  const keys = (url: string) => {
    const found = keysOfStoreUrl(url)
    return 'refused' in found ? found.refused : Object.fromEntries(found)
  }
  const all = { type: 'dynamodb', table: 'cache', region: 'r', endpoint: 'http://127.0.0.1:8000' }
  assert.deepEqual(keys('dynamodb://cache?region=r&endpoint=http://127.0.0.1:8000'), all)
  assert.deepEqual(keys('dynamodb://cache/?region=r&endpoint=http%3A%2F%2F127.0.0.1%3A8000'), all)
  assert.deepEqual(keys('dynamodb:cache'), { type: 'dynamodb', table: 'cache' })
  assert.match(keys('dynamodb://') as string, /names no table/)
  assert.match(keys('dynamodb://key:secret@cache') as string, /must not hold credentials/)
})

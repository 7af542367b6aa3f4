/** Several processes that share a table in DynamoDB Local. */
import { test } from 'node:test'
import { isUnavailable } from '../servers/availability.ts'
import { startDynamoDbFixture } from '../servers/dynamodb/fixture.ts'
import { type StoreUrl, testFleet } from './fleet-laws.ts'
import { withTables } from './tables.ts'
import { testViewers } from './viewer-laws.ts'

// The processes find credentials where the SDK looks for them.
Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' })

const server = await startDynamoDbFixture()
let stores = 0
if (!isUnavailable(server)) test.after(() => server.stop())

const storeUrl: StoreUrl = async (t) => {
  if (isUnavailable(server)) return { skip: server.unavailable }
  const table = `fleet-${process.pid}-${stores++}`
  return withTables(t, `dynamodb://${table}?region=local&endpoint=${encodeURIComponent(server.endpoint)}`)
}

testFleet('dynamodb', storeUrl)
testViewers('dynamodb', storeUrl)

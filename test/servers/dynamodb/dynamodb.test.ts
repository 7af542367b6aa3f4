import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUnavailable } from '../availability.ts'
import { startDynamoDb } from './dynamodb.ts'

test('a machine without Java gets the name of the package to install', async (t) => {
  const path = process.env['PATH']
  t.after(() => {
    process.env['PATH'] = path
  })
  process.env['PATH'] = ''
  const outcome = await startDynamoDb()
  assert.ok(isUnavailable(outcome))
  assert.match(
    outcome.unavailable,
    /DynamoDB Local needs java, which this system has not; install a JDK 17 or later and Maven/,
  )
})

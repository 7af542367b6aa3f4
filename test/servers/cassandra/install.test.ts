import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUnavailable } from '../availability.ts'
import { installCassandra } from './install.ts'

test('a machine without Java gets the name of the package to install', async (t) => {
  const [path, home] = [process.env['PATH'], process.env['JAVA17_HOME']]
  t.after(() => {
    process.env['PATH'] = path
    if (home === undefined) delete process.env['JAVA17_HOME']
    else process.env['JAVA17_HOME'] = home
  })
  process.env['PATH'] = ''
  process.env['JAVA17_HOME'] = '/nowhere'
  const outcome = await installCassandra()
  assert.ok(isUnavailable(outcome))
  assert.match(outcome.unavailable, /Cassandra needs Java 17, which this system has not; install a JDK 17/)
})

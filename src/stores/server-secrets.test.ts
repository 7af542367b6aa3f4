import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { readLogin, readTls } from './server-secrets.ts'

function fileWith(t: TestContext, content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'windowpane-secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'file')
  writeFileSync(file, content)
  return file
}

test('a password is the first line of its file, with its blanks', (t) => {
  assert.deepEqual(readLogin({ passwordFile: fileWith(t, ' p \r\nnot this\n') }), { password: ' p ' })
  assert.deepEqual(readLogin({ username: 'u', password: { reveal: () => '' } }), {
    username: 'u',
    password: '',
  })
  assert.deepEqual(readLogin({}), {})
})

test('a file without a password is refused: connections would be made without one', (t) => {
  const passwordFile = fileWith(t, '\r\n')
  assert.deepEqual(readLogin({ passwordFile }), {
    refused: 'unreadable_file',
    detail: `the file of a password cannot be used: ${passwordFile} is empty`,
    remedy: 'name a file that this user can read, and that has a password',
  })
  const missing = readLogin({ passwordFile: `${passwordFile}-none` })
  assert.match('refused' in missing ? missing.detail : '', /-none cannot be read: it does not exist$/)
})

test('certificates of a store are read as those of a database, and always verified', (t) => {
  const ca = fileWith(t, 'no certificate')
  const tls = readTls({ tls: true, ca })
  assert.match(tls !== undefined && 'refused' in tls ? tls.detail : '', /there is no certificate in it$/)
  assert.equal(readTls({ tls: false, ca }), undefined)
  assert.deepEqual(readTls({ tls: true, serverName: 'redis.internal' }), {
    ...{ rejectUnauthorized: true, servername: 'redis.internal' },
  })
})

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { authorizationOf } from './probe.ts'
import type { BackendConfig } from './schema.ts'
import { Secret } from './secret.ts'

const none: BackendConfig['auth'] = {
  username: undefined,
  password: undefined,
  passwordFile: undefined,
  token: undefined,
  tokenFile: undefined,
}

test('credentials come from the environment or from the first line of a file, read every time', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'windowpane-probe-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'secret')
  await writeFile(file, 'one\r\nnot this\n')
  const basic = (password: string) => `Basic ${Buffer.from(`ü:${password}`).toString('base64')}`
  assert.equal(await authorizationOf(none), undefined)
  assert.equal(await authorizationOf({ ...none, username: 'ü', password: new Secret('p') }), basic('p'))
  assert.equal(await authorizationOf({ ...none, username: 'ü', passwordFile: file }), basic('one'))
  assert.equal(await authorizationOf({ ...none, token: new Secret('t') }), 'Bearer t')
  assert.equal(await authorizationOf({ ...none, tokenFile: file }), 'Bearer one')
  await writeFile(file, 'two')
  assert.equal(await authorizationOf({ ...none, tokenFile: file }), 'Bearer two')
  await assert.rejects(authorizationOf({ ...none, tokenFile: join(folder, 'none') }), { code: 'ENOENT' })
})

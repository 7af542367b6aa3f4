/** Tables of a test's own, made the way an operator makes them: `windowpane store init`. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { runToEnd } from '../cli/child.ts'

export async function withTables(t: TestContext, url: string): Promise<string> {
  const { code, out, err } = await runToEnd(t, ['store', 'init', '--url', url, '--json'])
  assert.equal(code, 0, out + err)
  return url
}

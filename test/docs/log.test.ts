/** docs/reference/log.md lists the messages that the code logs, and no others. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import test from 'node:test'

const page = readFileSync('docs/reference/log.md', 'utf8')
const code = globSync('src/**/*.ts')
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n')

const listed = [...page.matchAll(/^\| [a-z, ]+ \| `([^`]+)` \|/gm)].map((found) => found[1]!)

test('every message of the page is in the code', () => {
  assert.ok(listed.length > 25)
  for (const message of listed) {
    const fixed = message.split(/<[^>]+>/).map((part) => part.replace(/: $/, ''))
    for (const part of fixed) assert.ok(code.includes(part), `no code logs "${part}"`)
  }
})

test('every message of the code is on the page', () => {
  const literal = /\.line\(\s*(?:level|'(?:debug|info|warn|error)')\s*,\s*(['`])((?:(?!\1).)+)\1/g
  const messages = [...code.matchAll(literal)].map((found) => found[2]!)
  assert.ok(messages.length > 15)
  for (const message of messages) {
    const start = message.split('${')[0]!.trimEnd()
    assert.ok(
      listed.some((each) => each.startsWith(start)),
      `the page does not have "${message}"`,
    )
  }
})

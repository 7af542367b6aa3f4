/**
 * Invalid files and their messages, word for word: fixtures/bad-files.txt. After an intended change,
 * WINDOWPANE_UPDATE_GOLDEN=1 writes it anew; read the difference before it is committed.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { describeProblem, loadConfig } from './load.ts'

const path = join(import.meta.dirname, 'fixtures/bad-files.txt')

interface BadFile {
  readonly name: string
  readonly text: string
  readonly says: string
}

function read(): BadFile[] {
  const blocks = readFileSync(path, 'utf8')
    .split(/^#### /m)
    .slice(1)
  return blocks.map((block) => {
    const [head, says] = block.split(/^##\n/m)
    const at = head!.indexOf('\n')
    return { name: head!.slice(0, at), text: unescaped(head!.slice(at + 1)), says: says! }
  })
}

/** Tabs and carriage returns are written out, so that no editor repairs them. */
const unescaped = (text: string): string => text.replaceAll('␉', '\t').replaceAll('␍', '\r')
const escaped = (text: string): string => text.replaceAll('\t', '␉').replaceAll('\r', '␍')

function said(bytes: Uint8Array): string {
  const loaded = loadConfig({ file: { name: 'w.yaml', bytes } })
  assert.ok('problems' in loaded, 'it was accepted')
  return `${loaded.problems.map(describeProblem).join('\n')}\n`
}

const files = read()

if (process.env['WINDOWPANE_UPDATE_GOLDEN'] === '1') {
  const blocks = files.map(
    ({ name, text }) => `#### ${name}\n${escaped(text)}##\n${escaped(said(Buffer.from(text)))}`,
  )
  writeFileSync(path, blocks.join(''))
}

for (const { name, text, says } of files) {
  test(`refused: ${name}`, () => assert.equal(said(Buffer.from(text)), unescaped(says)))
}

test('there are at least sixty of them, with names of their own', () => {
  assert.ok(new Set(files.map((file) => file.name)).size >= 60)
  assert.equal(new Set(files.map((file) => file.name)).size, files.length)
})

const good = 'backends: { main: { url: http://a:9090 } }\n'

for (const [name, bytes, says] of [
  ['Latin-1', [...Buffer.from(`${good}listen: `), 0xe4, 0x0a], 'w.yaml:2:1: this line is not UTF-8\n'],
  ['UTF-16', Buffer.from(`\ufeff${good}`, 'utf16le'), 'w.yaml:1:1: the file is UTF-16; expected UTF-8\n'],
  ['too much', Buffer.alloc(2 ** 18 + 1, '#'), 'w.yaml:1:1: the file is larger than 262144 bytes\n'],
] as const) {
  test(`refused: ${name}`, () => assert.equal(said(Uint8Array.from(bytes)), says))
}

for (const [name, text] of [
  ['brackets', '['.repeat(100_000)],
  ['dashes', '- '.repeat(100_000)],
  ['questions', '? '.repeat(100_000)],
  ['quotes', '"\n'.repeat(10_000)],
  ['anchors', '&a '.repeat(10_000)],
] as const) {
  test(`nothing but ${name} is refused in a few lines, not by a crash`, () => {
    assert.ok(said(Buffer.from(text)).length < 20_000)
  })
}

test('a byte order mark is no mistake', () => {
  assert.ok('config' in loadConfig({ file: { name: 'w.yaml', bytes: Buffer.from(`\ufeff${good}`) } }))
})

test('a long line is cut around the mistake', () => {
  const text = `${good}rules: [${'{ name: aaaaaaaa, bypass: true, match: { backend: main } }, '.repeat(20)}{ bypas: 1 }]\n`
  for (const line of said(Buffer.from(text)).split('\n').slice(1)) assert.ok(line.length < 130, line)
  assert.match(said(Buffer.from(text)), /\n {2} {2}\| +\^/)
})

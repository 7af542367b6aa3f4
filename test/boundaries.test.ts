/** The import boundaries of biome.json: of two folders, at least one may not import the other. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'

interface Override {
  readonly includes: readonly string[]
  readonly linter: {
    readonly rules: {
      readonly style: {
        readonly noRestrictedImports: {
          readonly options: { readonly patterns: readonly { readonly group: readonly string[] }[] }
        }
      }
    }
  }
}

const root = join(import.meta.dirname, '..')
const { overrides } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8')) as {
  readonly overrides: readonly Override[]
}

/** By the files that a boundary is for: its patterns. */
const boundaries = new Map(
  overrides.map(({ includes, linter }) => [
    includes[0]!,
    linter.rules.style.noRestrictedImports.options.patterns.flatMap(({ group }) => group),
  ]),
)

const foldersIn = (parent: string): string[] =>
  globSync(`${parent}/*/`, { cwd: root }).map((path) => path.slice(parent.length + 1).replace(/\/$/, ''))

function forbids(parent: string, folder: string, other: string): boolean {
  const patterns = boundaries.get(`${parent}/${folder}/**`) ?? []
  return patterns.includes(`**/${other}/**`)
}

for (const parent of ['src', 'src/proxy', 'src/engine']) {
  const folders = foldersIn(parent)
  for (const [i, folder] of folders.entries()) {
    test(`between ${parent}/${folder} and the folders beside it, imports point one way`, () => {
      const others = folders.slice(i + 1)
      const open = others.filter(
        (other) => !forbids(parent, folder, other) && !forbids(parent, other, folder),
      )
      assert.deepEqual(open, [])
    })
  }
}

for (const parent of ['src/backends', 'src/stores']) {
  test(`a folder of ${parent} imports none beside it, but the one that all share`, () => {
    assert.ok(boundaries.get(`${parent}/*/**`)?.includes('../*/**'))
  })
}

test('a boundary inside another one, which it replaces, forbids no less', () => {
  const inner = [...boundaries.keys()].filter((glob) => /^src\/\w+\/.+\//.test(glob) || glob.endsWith('*.ts'))
  assert.ok(inner.length > 10)
  for (const glob of inner) {
    const around = boundaries.get(`${glob.split('/', 2).join('/')}/**`)!
    const missing = around.filter((pattern) => !boundaries.get(glob)!.includes(pattern))
    assert.deepEqual(missing, [], glob)
  }
})

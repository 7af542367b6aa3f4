/**
 * The import boundaries of biome.json, as the lint itself enforces them: it runs over a copy of the folders, in which each
 * file has one import.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
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

const foldersIn = (parent: string): string[] =>
  globSync(`${parent}/*/`, { cwd: root }).map((path) => path.replaceAll('\\', '/').replace(/\/$/, ''))

type Import = readonly [folder: string, specifier: string]

function importOf(folder: string, path: string): Import {
  const specifier = relative(folder, path)
  return [folder, specifier.startsWith('.') ? specifier : `./${specifier}`]
}

/** One spawn for all imports; temporary files, so that nothing beside this test sees them. */
function lint(imports: readonly Import[]): ReadonlySet<string> {
  const copy = mkdtempSync(join(tmpdir(), 'windowpane-boundaries-'))
  try {
    writeFileSync(join(copy, 'biome.json'), JSON.stringify({ overrides }))
    for (const [i, [folder, specifier]] of imports.entries()) {
      mkdirSync(join(copy, folder), { recursive: true })
      writeFileSync(join(copy, folder, `import-${i}.ts`), `import '${specifier}'\n`)
    }
    const options = ['--only=style/noRestrictedImports', '--max-diagnostics=none', '--reporter=github']
    const program = join(root, 'node_modules/@biomejs/biome/bin/biome')
    const { stdout, stderr } = spawnSync(process.execPath, [program, 'lint', ...options], {
      ...{ cwd: copy, encoding: 'utf8', maxBuffer: 2 ** 26 },
    })
    const found = [...stdout.matchAll(/,?file=[^,\n]*import-(\d+)\.ts,/g)].map(([, i]) => imports[Number(i)]!)
    assert.ok(found.length > 0, `no import is forbidden: ${stdout}${stderr}`)
    return new Set(found.map(String))
  } finally {
    rmSync(copy, { recursive: true })
  }
}

const parents = ['src', 'src/proxy', 'src/engine']
const pairsIn = (parent: string): Import[] =>
  foldersIn(parent).flatMap((folder) =>
    foldersIn(parent).flatMap((other) => (other === folder ? [] : [importOf(folder, `${other}/any.ts`)])),
  )

/** The demo has a database of its own, and the suites of `testing/` are for databases. */
const mayNameDatabases = ['src/backends', 'src/demo', 'src/testing']
const namings = parents
  .flatMap(foldersIn)
  .filter((folder) => !mayNameDatabases.includes(folder))
  .flatMap((folder) => ['druid', 'matrix'].map((name) => importOf(folder, `src/backends/${name}/index.ts`)))

/** The imports of the members of a folder: each other, in every way it can be written, and what they share. */
function membersOf(parent: string, shared: string) {
  const folders = foldersIn(parent)
  const from = folders.flatMap((folder) => [folder, `${folder}/inner`])
  const apart = folders.filter((folder) => folder !== `${parent}/${shared}`)
  const common = [`${parent}/seam.ts`, `${parent}/${shared}/any.ts`, 'src/core/any.ts', 'src/config/units.ts']
  const far = [`${parent}/kinds.ts`, 'src/config/read.ts', 'src/engine/any.ts']
  const refused = from.flatMap((folder) =>
    apart.flatMap((other) => {
      const up = relative(folder, 'src')
      const straight = importOf(folder, `${other}/index.ts`)
      const roundabout: Import = [folder, `${up}/${relative('src', other)}/index.ts`]
      const dotted: Import = [folder, `./${straight[1]}`]
      return `${folder}/`.startsWith(`${other}/`) ? [] : [straight, roundabout, dotted]
    }),
  )
  return {
    allowed: from.flatMap((folder) => common.map((path) => importOf(folder, path))),
    refused: [...refused, ...from.flatMap((folder) => far.map((path) => importOf(folder, path)))],
  }
}

const members = {
  'src/backends': membersOf('src/backends', 'matrix'),
  'src/stores': membersOf('src/stores', 'rows'),
}

/** Three files of the engine put its folders together. The others use none but `http`. */
const fromEngine = foldersIn('src/engine')
  .filter((folder) => folder !== 'src/engine/http')
  .map((folder) => importOf('src/engine', `${folder}/any.ts`))

const asked = [
  ...parents.flatMap(pairsIn),
  ...namings,
  ...fromEngine,
  ...Object.values(members).flatMap(({ allowed, refused }) => [...allowed, ...refused]),
]
const forbidden = lint(asked)
const isForbidden = (each: Import): boolean => forbidden.has(String(each))

for (const parent of parents) {
  const folders = foldersIn(parent)
  for (const [i, folder] of folders.entries()) {
    test(`between ${folder} and the folders beside it, imports point one way`, () => {
      const open = folders
        .slice(i + 1)
        .filter(
          (other) =>
            !isForbidden(importOf(folder, `${other}/any.ts`)) &&
            !isForbidden(importOf(other, `${folder}/any.ts`)),
        )
      assert.deepEqual(open, [])
    })
  }
}

test('the files that all folders of the engine use import none of them', () => {
  assert.ok(fromEngine.length > 4)
  assert.deepEqual(
    fromEngine.filter((each) => !isForbidden(each)),
    [],
  )
})

test('only the demo, the suites of testing/ and databases themselves name a database', () => {
  assert.ok(namings.length > 20)
  assert.deepEqual(
    namings.filter((each) => !isForbidden(each)),
    [],
  )
})

for (const [parent, { allowed, refused }] of Object.entries(members)) {
  test(`a folder of ${parent} imports none beside it, but the one that all share`, () => {
    assert.deepEqual(
      refused.filter((each) => !isForbidden(each)),
      [],
    )
    assert.deepEqual(allowed.filter(isForbidden), [])
  })
}

test('types are imported by statements: the lint does not read `import(…).Type`', () => {
  const sources = globSync('src/**/*.ts', { cwd: root }).filter((path) => !path.endsWith('.test.ts'))
  const inPlace = /(?:typeof import\(|\bimport\('\.[^']*'\)[.[])/
  assert.ok(inPlace.test("type A = import('../a.ts').A"))
  assert.deepEqual(
    sources.filter((path) => inPlace.test(readFileSync(join(root, path), 'utf8'))),
    [],
  )
})

test('a boundary inside another one, which it replaces, begins with all of it', () => {
  const groups = new Map(
    overrides.map(({ includes, linter }) => [
      includes[0]!,
      linter.rules.style.noRestrictedImports.options.patterns.map(({ group }) => group),
    ]),
  )
  const inner = [...groups.keys()].filter((glob) => /^src\/\w+\/.+\//.test(glob) || glob.endsWith('*.ts'))
  assert.ok(inner.length > 10)
  for (const glob of inner) {
    const around = groups.get(`${glob.split('/', 2).join('/')}/**`)!
    assert.deepEqual(groups.get(glob)!.slice(0, around.length), around, glob)
  }
})

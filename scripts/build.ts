/**
 * Builds dist, the content of the package: `npm run build`. Only files that the entries of tsconfig.build.json reach
 * are compiled, so tests and their tools stay out.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

// Files of an earlier build would be published too.
rmSync(dist, { recursive: true, force: true })
const tsc = join(root, 'node_modules/.bin/tsc')
// Comments help readers of declarations; in code they would be a tenth of the package.
for (const emit of [['--emitDeclarationOnly'], ['--declaration', 'false', '--removeComments']]) {
  const compiled = spawnSync(tsc, ['-p', 'tsconfig.build.json', ...emit], { cwd: root, stdio: 'inherit' })
  if (compiled.status !== 0) process.exit(1)
}
// The compiler renames imports in code, and leaves those in declarations as they are.
for (const name of globSync('**/*.d.ts', { cwd: dist })) {
  const path = join(dist, name)
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/(['"])(\.\.?\/[^'"]+)\.ts\1/g, '$1$2.js$1'))
}
// Declarations that no import of the package leads to are useless.
const offered = Object.values<{ types?: string } | string>(manifest.exports).flatMap((entry) =>
  typeof entry === 'string' ? [] : globSync(entry.types ?? '', { cwd: root }),
)
const reached = new Set<string>()
const left = offered.map((path) => join(root, path))
for (let path = left.pop(); path !== undefined; path = left.pop()) {
  if (reached.has(path)) continue
  reached.add(path)
  for (const [, target] of readFileSync(path, 'utf8').matchAll(/['"](\.\.?\/[^'"]+)\.js['"]/g))
    left.push(join(dirname(path), `${target}.d.ts`))
}
for (const name of globSync('**/*.d.ts', { cwd: dist })) {
  if (!reached.has(join(dist, name))) rmSync(join(dist, name))
}
chmodSync(join(dist, 'cli/bin.js'), 0o755)

/** Which test files a run is about, and which servers they share. */
import { globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, matchesGlob, normalize, relative, resolve } from 'node:path'

export const root = join(import.meta.dirname, '..')

/** Every test file, as a path from the root. */
export const testFiles = (): string[] =>
  globSync(['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'], { cwd: root })

/**
 * Returns the test files that a pattern names: a file, a folder, a glob, or a part of a path, whichever it is first. A file need not
 * be one that every run includes. Paths are relative to the root or absolute.
 */
export function filesNamedBy(pattern: string, all: readonly string[]): string[] {
  const path = relative(root, resolve(root, pattern))
  const found = statSync(resolve(root, pattern), { throwIfNoEntry: false })
  if (found?.isFile()) return [path]
  if (found?.isDirectory()) return all.filter((file) => path === '' || file.startsWith(`${path}/`))
  const inGlob = all.filter((file) => matchesGlob(file, path))
  return inGlob.length > 0 ? inGlob : all.filter((file) => file.includes(pattern))
}

/** Whether a file, or one that it imports, contains a text. */
export function reaches(text: string, files: readonly string[]): boolean {
  const seen = new Set<string>()
  const open = [...files]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    const source = readFileSync(join(root, file), 'utf8')
    if (source.includes(text)) return true
    for (const [, target] of source.matchAll(/(?:from|import) '(\.[^']+\.ts)'/g)) {
      open.push(normalize(join(dirname(file), target!)))
    }
  }
  return false
}

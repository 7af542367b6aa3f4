/** The imports of the package's modules, followed from its entries. */
import { posix } from 'node:path'
import type { Package } from './packed.ts'

/** `from '…'`, `import '…'`, `import('…')`, as the compiler writes them; type imports of declarations too. */
const specifier = /(?:\bfrom|\bimport)\s*\(?\s*(['"])([@\w./:-]+)\1/g

export const specifiersIn = (text: string): string[] =>
  [...text.matchAll(specifier)].map((found) => found[2]!)

/** The modules that are loaded with a module, and not only when it calls `import(…)`. */
const staticSpecifiersIn = (text: string): string[] =>
  specifiersIn(text.replaceAll(/\bimport\s*\(/g, 'later('))

/** Paths of the files that `exports` and `bin` name, with every name that a pattern stands for. */
export function entriesOf({ manifest, files }: Package, condition: 'types' | 'default'): string[] {
  const entries = Object.values(manifest.exports).flatMap((target) => {
    const path = typeof target === 'string' ? target : target[condition]!
    return path.endsWith('.json') ? [] : matching(path.replace(/^\.\//, ''), files)
  })
  return condition === 'default'
    ? [...entries, manifest.bin.windowpane, ...threadEntries, ...demoEntries]
    : entries
}

/** Nothing imports them: threads are started with them. */
export const threadEntries = ['dist/workers/worker.js', 'dist/proxy/compression/pieces-worker.js']

/** The process of the demo's viewers, and the thread of its database. */
const demoEntries = ['dist/demo/world.js', 'dist/demo/database-thread.js']

function matching(path: string, files: Package['files']): string[] {
  const [before, after] = path.split('*')
  if (after === undefined) return [path]
  const names = files.map((file) => file.path)
  return names.filter((name) => {
    const middle = name.slice(before!.length, name.length - after.length)
    const isName = middle !== '' && !middle.includes('/')
    return isName && name.startsWith(before!) && name.endsWith(after)
  })
}

export interface Reached {
  readonly files: ReadonlySet<string>
  /** Names of packages and of Node's own modules. */
  readonly packages: ReadonlySet<string>
}

/** Reads declarations where the entries are declarations. */
export const reachedFrom = (entries: readonly string[], of: Package): Promise<Reached> =>
  follow(entries, of, specifiersIn)

/** The same, without lazily loaded modules. */
export const loadedWith = (entries: readonly string[], of: Package): Promise<Reached> =>
  follow(entries, of, staticSpecifiersIn)

async function follow(
  entries: readonly string[],
  of: Package,
  namesIn: (text: string) => string[],
): Promise<Reached> {
  const files = new Set(entries)
  const packages = new Set<string>()
  for (const path of files) {
    const isTypes = path.endsWith('.d.ts')
    for (const name of namesIn(await of.text(path))) {
      if (!name.startsWith('.')) packages.add(packageOf(name))
      else files.add(posix.join(posix.dirname(path), isTypes ? name.replace(/\.js$/, '.d.ts') : name))
    }
  }
  return { files, packages }
}

const packageOf = (name: string): string =>
  name.startsWith('node:')
    ? 'node:'
    : name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/')

/**
 * The specifiers by which a program imports something: each subpath of `exports`, with every name that a pattern stands
 * for.
 */
export function subpathsOf({ manifest, files }: Package): string[] {
  return Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    if (typeof target === 'string') return []
    const path = target['default']!.replace(/^\.\//, '')
    const [before, after] = path.split('*')
    const names = matching(path, files)
    const stars = after === undefined ? [''] : names.map((name) => name.slice(before!.length, -after.length))
    return stars.map((star) => posix.join('windowpane', subpath.replace('*', star)))
  })
}

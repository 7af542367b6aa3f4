/** Clients as their users install them, once per machine, into the cache folder of the test servers. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Unavailable } from '../servers/availability.ts'
import { cacheFolder, onceFolder } from '../servers/cache.ts'
import { describeToolError, fingerprint } from '../servers/maven.ts'

const run = promisify(execFile)
const INSTALL_TIMEOUT_MS = 20 * 60_000

/** The last three are undeclared dependencies of Superset. */
const pythonPackages = [
  'apache-superset==6.1.0',
  'pydruid==0.6.9',
  'rich==15.0.0',
  'cachetools==8.0.0',
  'flask-caching==2.3.1',
]
const nodePackages = ['plywood@0.33.3', 'plywood-druid-requester@3.0.2']

export interface InstalledClients {
  /** A Python that can import Superset and pydruid. */
  readonly python: string
  /** Loads a package that Turnilo uses. */
  readonly load: (name: string) => unknown
}

export async function installClients(): Promise<InstalledClients | Unavailable> {
  try {
    const [environment, modules] = [await pythonEnvironment(), await nodeModules()]
    return {
      python: join(environment, 'bin/python'),
      load: createRequire(join(modules, 'package.json')),
    }
  } catch (error) {
    return { unavailable: describeToolError(error, 'a client', 'install Python 3 with venv, and npm') }
  }
}

/** Its programs name the folder they were made in: only its Python is used, and that finds its packages wherever it lies. */
function pythonEnvironment(): Promise<string> {
  return once('superset', pythonPackages, async (folder) => {
    process.stderr.write('installing Superset and pydruid (800 MB): this takes minutes\n')
    await run('python3', ['-m', 'venv', folder])
    const install = ['-m', 'pip', 'install', '-q', ...pythonPackages]
    await run(join(folder, 'bin/python'), install, { timeout: INSTALL_TIMEOUT_MS })
  })
}

function nodeModules(): Promise<string> {
  return once('plywood', nodePackages, async (folder) => {
    await writeFile(join(folder, 'package.json'), '{}')
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...nodePackages]
    await run('npm', install, { cwd: folder, timeout: INSTALL_TIMEOUT_MS })
  })
}

const once = (name: string, packages: readonly string[], fill: (folder: string) => Promise<void>) =>
  onceFolder(join(cacheFolder(), `clients-${name}-${fingerprint(packages.join(' '))}`), fill)

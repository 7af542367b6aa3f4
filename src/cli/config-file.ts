/** Reading the configuration of a command: file, environment, flags and the URL on the command line. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { SplitArguments } from '../config/flags.ts'
import { type LoadedConfig, type LoadOptions, loadConfig, type RefusedConfig } from '../config/load.ts'
import { byDefault } from '../config/source.ts'
import { fileSentence } from '../core/file-error.ts'

/** The interface of a command to its process. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>
  out(text: string): void
  err(text: string): void
  /** Instead of the disk. */
  readonly readFile?: (path: string) => Promise<Uint8Array>
}

/** Used where neither a file nor a URL is named. */
export const usualConfigFile = 'windowpane.yaml'

/** The file that `--config` or the environment names; else the usual one of the current folder, where no URL is given. */
export function configFileName({ own, positionals }: SplitArguments, io: Io): string | undefined {
  const named = own.get('config') || io.env['WINDOWPANE_CONFIG']
  if (named) return named
  return positionals.length === 0 && existsSync(usualConfigFile) ? usualConfigFile : undefined
}

/** Whether the command line, a file or the environment names a database. `--identity` and other keys of `main` do not. */
export function hasDatabase(split: SplitArguments, io: Io): boolean {
  if (split.positionals.length > 0 || configFileName(split, io) !== undefined) return true
  const isBackend = (name: string) => /^(WINDOWPANE_BACKENDS(_|$)|backends(\.[^.]+\.url|$))/.test(name)
  return [...Object.keys(io.env), ...split.flags.map((flag) => flag.name)].some(isBackend)
}

/**
 * The address of the admin listener for the commands that query it; as a map it is the section of the configuration.
 */
export const adminVariable = 'WINDOWPANE_ADMIN'

export const isAddress = (text: string | undefined): boolean => text !== undefined && /^[^\s{]+$/.test(text)

const environmentOf = ({ env }: Io): Io['env'] =>
  isAddress(env[adminVariable]) ? { ...env, [adminVariable]: undefined } : env

export interface ReadConfig extends LoadedConfig {
  /** Its sources: loading them again gives the same result. */
  readonly given: LoadOptions
}

export async function readConfig(split: SplitArguments, io: Io): Promise<ReadConfig | RefusedConfig> {
  const name = configFileName(split, io)
  const [upstream] = split.positionals
  const given = {
    env: { ...environmentOf(io) },
    flags: split.flags,
    ...(upstream !== undefined && { upstream }),
  }
  const read = io.readFile ?? readFile
  if (upstream !== undefined && isFileNotUrl(upstream)) return refused(await notAUrl(upstream, read))
  if (name === undefined) return configOf(given)
  try {
    return configOf({ ...given, file: { name, bytes: await read(name) } })
  } catch (error) {
    return refused(fileSentence(name, error))
  }
}

/** Written as a path, or with the extension of a configuration: no URL looks like that, with or without its scheme. */
const isFileNotUrl = (text: string): boolean => /^(?:~|\.{0,2})\/|^[^:]*\.(?:ya?ml|json)$/i.test(text)

const refused = (message: string): RefusedConfig => ({ problems: [{ path: '', source: byDefault, message }] })

/** `windowpane windowpane.yaml`: the existence of such a file shows the intention. */
async function notAUrl(name: string, read: NonNullable<Io['readFile']>): Promise<string> {
  try {
    await read(name)
    return `${name} is a file, not the URL of a database; a configuration is named with --config ${name}`
  } catch (error) {
    return `${fileSentence(name, error)}, and a database is named by its URL, such as http://prometheus:9090`
  }
}

function configOf(given: LoadOptions): ReadConfig | RefusedConfig {
  const loaded = loadConfig(given)
  return 'problems' in loaded ? loaded : { ...loaded, given }
}

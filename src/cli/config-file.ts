/** Reading the configuration of a command: file, environment, flags and the URL on the command line. */
import { readFile } from 'node:fs/promises'
import type { SplitArguments } from '../config/flags.ts'
import { type LoadedConfig, type LoadOptions, loadConfig, type RefusedConfig } from '../config/load.ts'

/** What a command gets from the process it runs in. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>
  out(text: string): void
  err(text: string): void
  /** Instead of the disk. */
  readonly readFile?: (path: string) => Promise<Uint8Array>
}

/** The file that `--config` or the environment names. */
export function configFileName({ own }: SplitArguments, io: Io): string | undefined {
  return own.get('config') || io.env['WINDOWPANE_CONFIG'] || undefined
}

/** Names the admin listener to the commands that ask it; as a map it is the section of the configuration. */
export const adminVariable = 'WINDOWPANE_ADMIN'

export const isAddress = (text: string | undefined): boolean => text !== undefined && /^[^\s{]+$/.test(text)

const environmentOf = ({ env }: Io): Io['env'] =>
  isAddress(env[adminVariable]) ? { ...env, [adminVariable]: undefined } : env

export interface ReadConfig extends LoadedConfig {
  /** What it was made of: whoever loads it gets the same. */
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
  if (name === undefined) return configOf(given)
  try {
    return configOf({ ...given, file: { name, bytes: await (io.readFile ?? readFile)(name) } })
  } catch (error) {
    const message = `${name}: cannot be read: ${(error as Error).message}`
    return { problems: [{ path: '', source: { kind: 'default' }, message }] }
  }
}

function configOf(given: LoadOptions): ReadConfig | RefusedConfig {
  const loaded = loadConfig(given)
  return 'problems' in loaded ? loaded : { ...loaded, given }
}

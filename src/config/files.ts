/** Looks for the files and folders that a configuration names: whether they are on this machine and can be used. */
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileSentence } from '../core/file-error.ts'
import type { LoadedConfig } from './load.ts'
import { byDefault, type Problem } from './source.ts'
import { path as pathType } from './text-scalars.ts'
import { scalarsIn } from './view.ts'

export async function fileProblems({ config, sources }: LoadedConfig): Promise<Problem[]> {
  const problems: Problem[] = []
  for (const { type, value, path } of scalarsIn(config)) {
    if (type !== pathType || typeof value !== 'string') continue
    const message = await troubleWith(path, value)
    if (message !== undefined) problems.push({ path, source: sources.get(path) ?? byDefault, message })
  }
  return problems
}

function troubleWith(key: string, name: string): Promise<string | undefined> {
  if (/^stores\.[^.]+\.path$/.test(key)) return folderTrouble(name)
  return /^backends\..*\.socket$/.test(key) ? fileTrouble(name, 'a socket') : fileTrouble(name, 'a file')
}

async function fileTrouble(name: string, what: 'a file' | 'a socket'): Promise<string | undefined> {
  try {
    const found = await stat(name)
    // A pipe is as good as a file.
    if (what === 'a socket' ? !found.isSocket() : found.isDirectory()) return `${name} is not ${what}`
    await access(name, what === 'a socket' ? constants.W_OK : constants.R_OK)
    return undefined
  } catch (error) {
    return fileSentence(name, error)
  }
}

/** A folder of a store is made when the store is opened, where there is none. */
async function folderTrouble(name: string): Promise<string | undefined> {
  for (let at = resolve(name); ; at = dirname(at)) {
    try {
      if (!(await stat(at)).isDirectory()) return `${at} is not a folder`
      await access(at, constants.W_OK)
      return undefined
    } catch (error) {
      const isMissing = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
      if (!isMissing || dirname(at) === at) return fileSentence(at, error)
    }
  }
}

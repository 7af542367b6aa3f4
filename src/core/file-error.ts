/** Why a file or folder cannot be used, as a sentence. */

const sentences: Readonly<Record<string, (name: string) => string>> = {
  ENOENT: (name) => `there is no file ${name}`,
  ENOTDIR: (name) => `there is no file ${name}`,
  EISDIR: (name) => `${name} is a folder, not a file`,
  EACCES: (name) => `${name} may not be used by this user`,
  EPERM: (name) => `${name} may not be used by this user`,
}

export function fileSentence(name: string, error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return sentences[code]?.(name) ?? `${name} cannot be used: ${message}`
}

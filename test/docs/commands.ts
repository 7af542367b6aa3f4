/** The commands that the documentation shows: lines of ```sh blocks and indented lines that begin with a program. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export interface ShownCommand {
  readonly page: string
  readonly command: string
}

export async function shownCommands(): Promise<ShownCommand[]> {
  const found: ShownCommand[] = []
  for (const page of await allPages()) {
    const text = await readFile(join(root, page), 'utf8')
    for (const command of commandsIn(text)) found.push({ page, command })
  }
  return found
}

export async function allPages(): Promise<string[]> {
  const docs = await readdir(join(root, 'docs'), { recursive: true })
  const pages = docs.filter((name) => name.endsWith('.md')).map((name) => join('docs', name))
  return ['README.md', 'CONTRIBUTING.md', ...pages]
}

function commandsIn(text: string): string[] {
  const fenced = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap((block) => block[1]!.split('\n'))
  const indented = [
    ...text.matchAll(/^ {4}((?:npm|npx|node|curl|windowpane(?= (?:http|--config))) .*)$/gm),
  ].map((line) => line[1]!)
  return [...fenced, ...indented]
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '')
}

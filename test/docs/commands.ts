/** The commands that the documentation shows: lines of ```sh blocks and indented lines that begin with a program. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export interface ShownCommand {
  readonly page: string
  readonly command: string
}

/** Their commands need a Druid: test/druid runs them. */
export const druidPage = join('docs', 'guide', 'druid.md')
export const druidClientsPage = join('docs', 'guide', 'superset.md')
/** As above: test/victoriametrics runs them. */
export const victoriametricsPage = join('docs', 'guide', 'victoriametrics.md')

export async function shownCommands(pages: readonly string[]): Promise<ShownCommand[]> {
  const found: ShownCommand[] = []
  for (const page of pages) {
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

/** As a shell would cut it: the documentation uses single quotes only. */
export const wordsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)

function commandsIn(text: string): string[] {
  const fenced = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap((block) => block[1]!.split('\n'))
  const indented = [
    ...text.matchAll(/^ {4}((?:npm|npx|node|curl|windowpane(?= (?:http|--config))) .*)$/gm),
  ].map((line) => line[1]!)
  return [...fenced, ...indented]
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '')
}

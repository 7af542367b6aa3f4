/** `windowpane version`: the version of this program. */
import { version as own } from '../version.ts'
import { type Command, json } from './command.ts'
import { exitCode } from './exit-codes.ts'

export const versionLine = `windowpane ${own}\n`

export const version: Command = {
  words: {
    name: 'version',
    summary: 'print the version',
    synopsis: '[--json]',
    examples: ['windowpane version', 'windowpane --version'],
    flags: [{ name: 'json', about: 'versions of Windowpane and Node, as JSON' }],
  },
  async run(given, io) {
    io.out(given.has('json') ? json({ version: own, node: process.versions.node }) : versionLine)
    return exitCode.ok
  },
}

/** `windowpane completion`: prints a completion script for a shell. */
import { type Command, type CommandWords, Misuse } from './command.ts'
import { completionScript, type Shell, shells } from './completion-scripts.ts'
import { exitCode } from './exit-codes.ts'

const words = {
  name: 'completion',
  summary: 'print a completion script for bash, zsh or fish',
  synopsis: shells.join('|'),
  examples: [
    'source <(windowpane completion bash)',
    'windowpane completion zsh > ~/.zfunc/_windowpane',
    'windowpane completion fish | source',
  ],
  choices: shells,
  flags: [],
} as const satisfies CommandWords

/** `commands`: everything that can be completed, this command included. */
export const completionOf = (commands: () => readonly CommandWords[]): Command => ({
  words,
  async run({ positionals: [shell, ...more] }, io) {
    if (!shells.includes(shell as Shell) || more.length > 0)
      throw new Misuse(`expected one of ${shells.join(', ')}`)
    io.out(completionScript(shell as Shell, commands()))
    return exitCode.ok
  },
})

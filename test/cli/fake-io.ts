/** A fake process for a command, with a terminal or without. */

import type { CommandIo } from '../../src/cli/command.ts'
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts'

export interface FakeIo extends CommandIo {
  readonly clock: FakeClock
  readonly said: { out: string; err: string }
  /** As if the user had pressed Ctrl-C. */
  interrupt(): void
}

export interface FakeIoOptions {
  readonly terminal?: { readonly columns: number; readonly rows: number; readonly hasColour: boolean }
  readonly answer?: boolean
  readonly env?: Readonly<Record<string, string>>
}

export function fakeIo({ terminal, answer, env = {} }: FakeIoOptions = {}): FakeIo {
  const said = { out: '', err: '' }
  let interrupted = (): void => {}
  return {
    said,
    env,
    clock: fakeClock(Date.UTC(2026, 0, 1)),
    out(text) {
      said.out += text
    },
    err(text) {
      said.err += text
    },
    isErrTerminal: terminal !== undefined,
    hasUtf8: true,
    readInput: async () => '',
    drained: async () => {},
    onInterrupt(action) {
      interrupted = action
      return () => {}
    },
    interrupt: () => interrupted(),
    ...(terminal !== undefined && {
      terminal: { columns: () => terminal.columns, rows: () => terminal.rows, hasColour: terminal.hasColour },
    }),
    ...(answer !== undefined && { confirm: async () => answer }),
  }
}

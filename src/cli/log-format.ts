/** How the proxy writes its log lines. */
import type { Config } from '../config/schema.ts'
import type { LogFormat } from '../telemetry/log.ts'
import type { CommandIo } from './command.ts'

/** `auto` is text for people at a terminal, and JSON for whatever else reads it. */
export const logFormatOf = (
  { telemetry: { logFormat } }: Config,
  { isErrTerminal }: Pick<CommandIo, 'isErrTerminal'>,
): LogFormat => (logFormat === 'auto' ? (isErrTerminal ? 'text' : 'json') : logFormat)

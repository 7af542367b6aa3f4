#!/usr/bin/env node
/** The command line: which command is meant. Each has a file of its own. */
import { check } from './check.ts'
import type { Io } from './config-file.ts'
import { demo } from './demo.ts'
import { serve } from './serve.ts'

const io: Io = {
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
}

const [command, ...rest] = process.argv.slice(2)

function run(): Promise<number | undefined> {
  if (command === 'check') return check(rest, io)
  if (command === 'demo') return demo(rest)
  return serve(process.argv.slice(2), io)
}

const code = await run()
if (code !== undefined) process.exitCode = code

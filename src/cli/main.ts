#!/usr/bin/env node
/** `windowpane <url>`: starts the proxy, says one line when it is ready, drains on SIGTERM. */
import { prometheus } from '../backends/prometheus/index.ts'
import { WindowpaneError } from '../core/errors.ts'
import { defaultLimits } from '../proxy/limits.ts'
import { startWindowpane, type Windowpane } from '../proxy/server.ts'
import { withoutCredentials } from '../proxy/url.ts'
import { ladder } from '../ttl/ladder.ts'
import { version } from '../version.ts'
import { type Arguments, readArguments, usage } from './arguments.ts'

async function main(argv: readonly string[]): Promise<number | undefined> {
  const args = readArguments(argv)
  if ('help' in args) return say(usage, 0)
  if ('version' in args) return say(`windowpane ${version}\n`, 0)
  if ('mistakes' in args)
    return complain(`${args.mistakes.map((text) => `windowpane: ${text}`).join('\n')}\n\n${usage}`)
  try {
    const windowpane = await start(args)
    say(`${readyLine(args, windowpane)}\n`, 0)
    stopOnSignal(windowpane)
    return undefined
  } catch (error) {
    if (!(error instanceof WindowpaneError)) throw error
    return complain(`windowpane: ${error.message} (${error.code})\n${error.remedy}\n`)
  }
}

function start(args: Arguments): Promise<Windowpane> {
  const policy = ladder(args)
  const { maxStaleMs, memoryBytes, identity, listen, upstream } = args
  const backend = prometheus({ settledAgeMs: policy.settledAgeMs, maxBuckets: defaultLimits.maxBuckets })
  return startWindowpane({ upstream, backend, listen, policy, identity, limits: { maxStaleMs, memoryBytes } })
}

function readyLine(args: Arguments, { url, flavour }: Windowpane): string {
  const state = flavour.isKnown
    ? flavour.label
    : `${flavour.label}: requests are passed on uncached until it is known to be Prometheus`
  return `windowpane ${version} is ready: ${url} → ${withoutCredentials(args.upstream)} (${state})`
}

/** The first signal drains; a second one does not wait. */
function stopOnSignal(windowpane: Windowpane): void {
  let isStopping = false
  const stop = () => {
    if (isStopping) process.exit(1)
    isStopping = true
    void windowpane.close().then(() => process.exit(0))
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

function say(text: string, code: number): number {
  process.stdout.write(text)
  return code
}

function complain(text: string): number {
  process.stderr.write(text)
  return 2
}

const code = await main(process.argv.slice(2))
if (code !== undefined) process.exitCode = code

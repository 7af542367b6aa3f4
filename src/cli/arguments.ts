/** The command line: flags, durations and sizes, all mistakes told at once. */
import { parseArgs } from 'node:util'
import { defaultLimits } from '../proxy/limits.ts'
import { withoutCredentials } from '../proxy/url.ts'
import { publishedLadder } from '../ttl/ladder.ts'

export interface Arguments {
  readonly upstream: string
  readonly listen: string
  readonly floorMs: number
  readonly doublingMs: number
  readonly capMs: number
  readonly maxStaleMs: number
  readonly memoryBytes: number
  readonly identity: 'separate' | 'shared'
}

export type Parsed =
  | Arguments
  | { readonly help: true }
  | { readonly version: true }
  | { readonly mistakes: string[] }

export const usage = `Usage: windowpane <url of the database> [options]

  windowpane http://prometheus:9090
  windowpane http://prometheus:9090 --listen 0.0.0.0:9191 --memory 2GiB
  windowpane http://prometheus:9090 --ttl-floor 10s --max-stale 30m

Then point Grafana's Prometheus data source to the address it prints.

  --listen HOST:PORT    address to listen on                          127.0.0.1:9191
  --ttl-floor TIME      how long the newest buckets are believed      5s
  --ttl-doubling TIME   age after which that doubles, again and again 1m
  --ttl-cap TIME        the longest that any bucket is believed       1h
  --max-stale TIME      how long beyond that during an outage         15m
  --memory SIZE         panes and answers kept in memory              512MiB
  --identity MODE       separate: credentials, cookies and tenants do not share answers
                        shared: everybody may see everything          separate
  --version, --help

From a checkout: npm start -- http://prometheus:9090
`

export function readArguments(argv: readonly string[]): Parsed {
  const parsed = readFlags(argv)
  if ('mistakes' in parsed) return parsed
  const { values, positionals } = parsed
  if (values.help === true) return { help: true }
  if (values.version === true) return { version: true }
  const mistakes: string[] = []
  const read = <T>(flag: keyof typeof values, reader: Reader<T>, fallback: T): T => {
    const text = values[flag]
    const value = typeof text === 'string' ? reader.read(text) : fallback
    if (value === undefined) mistakes.push(`--${flag} ${String(text)}: expected ${reader.expected}`)
    return value ?? fallback
  }
  const args: Arguments = {
    upstream: positionals[0] ?? '',
    listen: read('listen', address, '127.0.0.1:9191'),
    floorMs: read('ttl-floor', duration, publishedLadder.floorMs),
    doublingMs: read('ttl-doubling', duration, publishedLadder.doublingMs),
    capMs: read('ttl-cap', duration, publishedLadder.capMs),
    maxStaleMs: read('max-stale', duration, defaultLimits.maxStaleMs),
    memoryBytes: read('memory', size, defaultLimits.memoryBytes),
    identity: read('identity', identity, 'separate'),
  }
  return mistakes.push(...mistakesIn(args, positionals)) > 0 ? { mistakes } : args
}

function readFlags(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        listen: { type: 'string' },
        'ttl-floor': { type: 'string' },
        'ttl-doubling': { type: 'string' },
        'ttl-cap': { type: 'string' },
        'max-stale': { type: 'string' },
        memory: { type: 'string' },
        identity: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
      },
    })
  } catch (error) {
    return { mistakes: [(error as Error).message] }
  }
}

function mistakesIn(args: Arguments, positionals: readonly string[]): string[] {
  const mistakes: string[] = []
  if (positionals.length === 0)
    mistakes.push('the URL of the database is missing, such as http://prometheus:9090')
  else if (!/^https?:\/\/[^/]/.test(args.upstream)) {
    const shown = withoutCredentials(args.upstream)
    mistakes.push(`${shown}: expected the URL of a database, such as http://prometheus:9090`)
  }
  if (positionals.length > 1) {
    mistakes.push(`${positionals.slice(1).map(withoutCredentials).join(' ')}: expected one URL only`)
  }
  if (args.floorMs > args.capMs) mistakes.push('--ttl-floor is longer than --ttl-cap')
  return mistakes
}

interface Reader<T> {
  readonly expected: string
  /** Undefined where the text is not what is expected. */
  read(text: string): T | undefined
}

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const duration: Reader<number> = {
  expected: 'a duration such as 500ms, 5s, 15m, 1h or 1d',
  read(text) {
    const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text)
    const value = match === null ? 0 : Number(match[1]) * units[match[2]!]!
    return value > 0 ? value : undefined
  },
}

const scales: Record<string, number> = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
}

const size: Reader<number> = {
  expected: 'a size of at least 16MiB, such as 512MiB or 2GB',
  read(text) {
    const match = /^(\d+(?:\.\d+)?)(|k|m|g|ki|mi|gi)b?$/i.exec(text)
    const value = match === null ? 0 : Math.floor(Number(match[1]) * scales[match[2]!.toLowerCase()]!)
    return value >= 16 * 2 ** 20 ? value : undefined
  },
}

const address: Reader<string> = {
  expected: 'host:port, such as 127.0.0.1:9191 or [::]:9191',
  read(text) {
    const match = /^(.*):(\d{1,5})$/.exec(text)
    return match !== null && Number(match[2]) < 65_536 ? text : undefined
  },
}

const identity: Reader<'separate' | 'shared'> = {
  expected: 'separate or shared',
  read: (text) => (text === 'separate' || text === 'shared' ? text : undefined),
}

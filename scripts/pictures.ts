/** Draws the pictures of the README and the guides as SVG. Part of `npm run docs`; a test checks that they are up to date. */
import { ladder as ladderPolicy } from '../src/ttl/ladder.ts'

const ink = '#1f2937'
const cached = '#60a5fa'
const fetched = '#f59e0b'

interface Place {
  readonly x: number
  readonly y: number
}

interface Box extends Place {
  readonly width: number
  readonly height: number
}

const text = ({ x, y }: Place, content: string, attributes = ''): string =>
  `<text x="${x}" y="${y}" ${attributes}>${content}</text>`

const box = ({ x, y, width, height }: Box, fill: string): string =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" fill="${fill}" stroke="${ink}"/>`

function named(at: Box, name: string): string {
  const middle = { x: at.x + at.width / 2, y: at.y + at.height / 2 + 5 }
  return box(at, '#f3f4f6') + text(middle, name, 'text-anchor="middle" font-weight="bold"')
}

const arrow = (from: Place, to: Place): string =>
  `<line x1="${from.x}" y1="${from.y}" x2="${to.x}" y2="${to.y}" stroke="${ink}" stroke-width="1.5" marker-end="url(#head)"/>`

function buckets({ x, y }: Place, count: number, fill: string): string {
  const cells = Array.from({ length: count }, (_, i) => {
    return `<rect x="${x + 14 * i}" y="${y}" width="12" height="22" fill="${fill}" stroke="${ink}" stroke-width="0.5"/>`
  })
  return cells.join('')
}

/** A dashboard's request: cached buckets, one query for the rest, one answer. */
function howItWorks(): string {
  const parts = [
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 250" font-family="sans-serif" font-size="14">',
    '<title>Windowpane answers from cached buckets and queries the database only for the rest</title>',
    `<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="${ink}"/></marker></defs>`,
    '<rect width="860" height="250" fill="white"/>',
    named({ x: 20, y: 90, width: 110, height: 50 }, 'Dashboard'),
    named({ x: 730, y: 90, width: 110, height: 50 }, 'Prometheus'),
    box({ x: 240, y: 40, width: 360, height: 150 }, '#ffffff'),
    text({ x: 420, y: 65 }, 'Windowpane', 'text-anchor="middle" font-weight="bold"'),
    buckets({ x: 255, y: 85 }, 18, cached),
    buckets({ x: 507, y: 85 }, 5, fetched),
    text({ x: 255, y: 130 }, '676 buckets: cached, fresh', `fill="${ink}" font-size="12"`),
    text({ x: 507, y: 130 }, '45: expired', `fill="${ink}" font-size="12"`),
    text({ x: 255, y: 170 }, 'the TTL of a bucket grows with the age of its data', 'font-size="12"'),
    arrow({ x: 130, y: 105 }, { x: 238, y: 105 }),
    text({ x: 135, y: 80 }, 'last 3 h,', 'font-size="12"'),
    text({ x: 135, y: 97 }, '15 s steps', 'font-size="12"'),
    arrow({ x: 238, y: 128 }, { x: 132, y: 128 }),
    text({ x: 135, y: 148 }, '721 buckets,', 'font-size="12"'),
    text({ x: 135, y: 164 }, 'the same bytes', 'font-size="12"'),
    arrow({ x: 600, y: 105 }, { x: 728, y: 105 }),
    text({ x: 608, y: 97 }, 'one query: 45 steps', 'font-size="11"'),
    arrow({ x: 730, y: 128 }, { x: 602, y: 128 }),
    text(
      { x: 430, y: 225 },
      'requests that arrive meanwhile wait for the same query',
      'text-anchor="middle" font-size="12"',
    ),
    '</svg>',
  ]
  return `${parts.join('\n')}\n`
}

/** The TTL of the published ladder by the age of the data at fetch. */
function ladder(): string {
  const minutes = Array.from({ length: 14 }, (_, minute) => minute)
  const policy = ladderPolicy()
  const ttl = (minute: number): number => policy.ttl(60_000 * minute) / 1000
  const y = (seconds: number): number => 220 - 20 * Math.log2(seconds / 5)
  const steps = minutes.map((m) => `H${60 + 50 * m} V${y(ttl(m)).toFixed(1)} H${110 + 50 * m}`).join(' ')
  const marks = [5, 60, 600, 3600].map((s) => {
    const label = s < 60 ? `${s} s` : s < 3600 ? `${s / 60} min` : '1 h'
    return text({ x: 12, y: y(s) + 5 }, label, 'font-size="12"')
  })
  const ages = minutes
    .filter((m) => m % 2 === 0)
    .map((m) => text({ x: 60 + 50 * m, y: 245 }, `${m} min`, 'font-size="12" text-anchor="middle"'))
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 280" font-family="sans-serif" font-size="14">',
    '<title>TTL of a bucket by the age of its data when it was fetched</title>',
    '<rect width="800" height="280" fill="white"/>',
    `<path d="M60,30 V225 H770" fill="none" stroke="${ink}"/>`,
    `<path d="M60,${y(5)} ${steps}" fill="none" stroke="${cached}" stroke-width="3"/>`,
    ...marks,
    ...ages,
    text({ x: 415, y: 270 }, 'age of the data when it was fetched', 'text-anchor="middle" font-size="12"'),
    text({ x: 66, y: 24 }, 'TTL', 'font-size="12"'),
    '</svg>\n',
  ].join('\n')
}

export const pictures = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/images/how-it-works.svg', howItWorks()],
    ['docs/images/ttl-ladder.svg', ladder()],
  ])

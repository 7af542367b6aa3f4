/** Implausible queries, made from plausible ones: most are nonsense, some are traps. */
import type { Random } from '../fidelity/random.ts'

const token = /"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`|#[^\n]*|\s+|[\w.:]+|./gsu

/** Tokens that decide about the locality of a step, and characters that decide where a token begins and ends. */
const pieces = [
  ...[
    'offset ',
    'OFFSET',
    ' offset 5m',
    ' offset -5m',
    ' offset (5m - 10m)',
    ' offset - 5m',
    ' offset step()',
  ],
  ...[' @ ', ' @ 1768400000', ' @ start()', ' @ end()', ' @ -5', '@1e9', ' @ 17.5 offset 1h'],
  ...[
    '[5m]',
    '[5m:]',
    '[5m:1m]',
    '[5m:step()]',
    '[5m + 1m]',
    '[step()]',
    '[1h:1m] offset -1m',
    '[range()]',
    ':',
  ],
  ...['start()', 'end()', 'range()', 'step()', 'start', 'step', ' anchored', ' smoothed', 'info(up)'],
  ...[
    ' fill(0) ',
    ' fill_left(0) ',
    ' or ',
    ' or up',
    ' and ',
    ' unless ',
    ' on(job) ',
    ' bool ',
    ' by (__name__) ',
  ],
  ...['-', '+', '- ', '^', '*', '</', '>/', '5m', '300', '1_000', '0x10', 'Inf', 'NaN', '.5', '-5m'],
  ...[
    '(',
    ')',
    '{',
    '}',
    '[',
    ']',
    ',',
    '"',
    "'",
    '`',
    '#',
    '\n',
    '\r',
    '\r\n',
    ' ',
    '\t',
    '\u00a0',
    '\ufeff',
  ],
  ...[
    '{__name__=~"a|b"}',
    '{"up"}',
    '{__name__="up"}',
    ',__name__="up"',
    ',"up"',
    '"__name__"="up"',
    '-up',
    'sort(',
  ],
  ...[
    'label_replace(',
    'label_join(',
    'max_over_time(',
    'rate(',
    'sum(',
    'topk(',
    'count_values("__name__", ',
  ],
]

const changes = {
  insert: (tokens: string[], at: number, random: Random) => tokens.splice(at, 0, random.pick(pieces)),
  append: (tokens: string[], _at: number, random: Random) => tokens.push(random.pick(pieces)),
  replace: (tokens: string[], at: number, random: Random) => tokens.splice(at, 1, random.pick(pieces)),
  drop: (tokens: string[], at: number) => tokens.splice(at, 1),
  repeat: (tokens: string[], at: number) => tokens.splice(at, 0, tokens[at] ?? ''),
  shout: (tokens: string[], at: number) => tokens.splice(at, 1, (tokens[at] ?? '').toUpperCase()),
  wrap: (tokens: string[], _at: number, random: Random) => {
    tokens.unshift(random.pick(['(', '-(', 'max_over_time((', 'sum(', 'topk(2, ', 'abs(']))
    tokens.push(random.pick([')', ')[5m:1m])', '))', ') offset 5m', ')[10m:])']))
  },
} as const
const weights = { insert: 5, append: 5, replace: 3, drop: 2, repeat: 1, shout: 1, wrap: 3 }

/** `text` after one to three changes. */
export function mutate(text: string, random: Random): string {
  const tokens = text.match(token) ?? []
  for (let left = random.int(1, 3); left > 0; left--) {
    changes[random.weighted(weights)](tokens, random.int(0, Math.max(0, tokens.length - 1)), random)
  }
  return tokens.join('')
}

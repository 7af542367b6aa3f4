/** Names and label values that encoders, parsers and sorting get wrong. */
import { counter, wave } from './samplers.ts'
import { type MetricSpec, SCRAPE_INTERVAL, type SeriesSpec } from './series.ts'

/** Label values by their oddity. */
export const ODD_VALUES: Readonly<Record<string, string>> = {
  quotes: 'say "hello"',
  single_quotes: "it's `so`",
  backslash: 'C:\\temp\\new',
  newline: 'two\nlines\r\n',
  tab: 'a\tb',
  control: 'before\u0001after\u001f',
  delete: 'del\u007f',
  html: '<b>&amp;</b>',
  line_separator: 'a\u2028b\u2029c',
  emoji: 'party 🎉 👩‍👩‍👧',
  accents: 'naïve Größe',
  decomposed: 'nai\u0308ve',
  replacement: 'bad\ufffdbyte',
  private_use: '\ue000 sorts after \ud83d\ude00 in UTF-16 only',
  empty: '',
  space: ' ',
  braces: '{job="api",le="+Inf"} 1',
  comma: 'a,b=c',
  slash: '/a/b?c=d&e=%20#f',
  long: 'x'.repeat(1000),
}

function oddValues(): SeriesSpec[] {
  return Object.entries(ODD_VALUES).map(([oddity, value]) => ({
    labels: { oddity, value },
    sampler: wave(10, 5, 3),
  }))
}

function values(label: string, list: readonly string[]): SeriesSpec[] {
  return list.map((value) => ({ labels: { [label]: value }, sampler: counter(4) }))
}

export const oddMetrics: readonly MetricSpec[] = [
  {
    name: 'odd_labels',
    kind: 'gauge',
    note: 'label `oddity` says what is odd about label `value`; "empty" comes back without `value`',
    series: oddValues(),
  },
  {
    name: 'prefixes_total',
    kind: 'counter',
    note: 'values where one is the beginning of another',
    series: values('service', ['api', 'api-readonly', 'api.v2', 'api/v2', 'apiary', 'API', 'a']),
  },
  {
    name: 'label_order',
    kind: 'gauge',
    note: 'label names that sort before (Zone, _zone, __Name) and after (__named, zone) `__name__`',
    series: [
      { labels: { Zone: 'b', zone: 'a' }, sampler: wave(1, 1) },
      { labels: { _zone: 'b', zone: 'a' }, sampler: wave(2, 1) },
      { labels: { __Name: 'c', Zone: 'a', zone: 'b' }, sampler: wave(3, 1) },
      { labels: { __named: 'd', Zone: 'a' }, sampler: wave(4, 1) },
      { labels: {}, sampler: wave(5, 1) },
      { labels: { A: '1', B: '2', a: '3', b: '4', a1: '5', a_: '6', aB: '7' }, sampler: wave(6, 1) },
    ],
  },
  {
    name: 'http.server.duration',
    kind: 'gauge',
    note: 'UTF-8 name with dots, asked as {"http.server.duration"}',
    series: ['checkout', 'search'].map((name, index) => ({
      labels: { 'service.name': name, 'http.status_code': '200' },
      offsetMs: index * 100,
      sampler: wave(0.5, 0.2),
    })),
  },
  {
    name: 'größe "der" 📦',
    kind: 'gauge',
    note: 'UTF-8 name with spaces, quotes and a character outside the BMP, and such a label name',
    series: [{ labels: { 'länge 📏': '1 m' }, intervalMs: SCRAPE_INTERVAL * 2, sampler: wave(100, 20, 2) }],
  },
]

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Detected } from '../config/detect.ts'
import { loadConfig } from '../config/load.ts'
import { arrivalLines } from './arrival.ts'

const flavours = {
  known: { isKnown: true, label: 'Druid 33.0.0' },
  lost: { isKnown: false, label: 'not reached: connect ECONNREFUSED 10.0.0.1:8888' },
} as const

function lines(yaml: string, found: Readonly<Record<string, Detected & { flavour: keyof typeof flavours }>>) {
  const loaded = loadConfig({ file: { name: 'w.yaml', bytes: Buffer.from(yaml) } })
  assert.ok('config' in loaded)
  const databases = Object.entries(found).map(([name, { flavour }]) => {
    return { name, url: 'http://127.0.0.1:9191', flavour: flavours[flavour] }
  })
  const kinds = new Map(Object.entries(found))
  return arrivalLines({ config: loaded.config, kinds, databases, adminUrl: 'http://127.0.0.1:9192' })
}

test('in front of a Druid, its own clients are told what to change', () => {
  const yaml = 'backends: { main: { url: "http://router:8888" } }'
  const said = lines(yaml, { main: { kind: 'druid', isGuessed: false, flavour: 'known' } })
  assert.match(said[0]!, / is ready: http:\/\/127\.0\.0\.1:9191 → http:\/\/router:8888\/ \(Druid 33\.0\.0\)$/)
  assert.deepEqual(said.slice(1), [
    'In Grafana, set the URL of the Druid data source to http://127.0.0.1:9191',
    'In Superset, set the SQLAlchemy URI of the database to druid://127.0.0.1:9191/druid/v2/sql/',
    'Look inside: http://127.0.0.1:9192/-/ or windowpane top',
  ])
})

test('a guess is told as one, with the key that ends the guessing', () => {
  const yaml = 'backends: { main: { url: "http://router:8888" } }'
  const [guessed] = lines(yaml, { main: { kind: 'druid', isGuessed: true, flavour: 'lost' } })
  assert.match(
    guessed!,
    /\(not reached: [^:]*:8888: taken for Druid by its port \(backends\.main\.type can say better\); requests are passed on uncached until it is known to be Druid\)$/,
  )
  const [written] = lines(yaml, { main: { kind: 'druid', isGuessed: false, flavour: 'lost' } })
  assert.match(written!, /:8888: requests are passed on uncached until it is known to be Druid\)$/)
})

test('of several databases each is named', () => {
  const yaml = `backends:
  main: { url: "http://p:9090" }
  events: { url: "http://d:8082", route: { path: /events } }
`
  const said = lines(yaml, {
    main: { kind: 'prometheus', isGuessed: false, flavour: 'known' },
    events: { kind: 'druid', isGuessed: false, flavour: 'known' },
  })
  assert.deepEqual(said.slice(2, 5), [
    'In Grafana, set the URL of the Prometheus data source of main to http://127.0.0.1:9191',
    'In Grafana, set the URL of the Druid data source of events to http://127.0.0.1:9191/events',
    'In Superset, set the SQLAlchemy URI of the database of events to druid://127.0.0.1:9191/events/druid/v2/sql/',
  ])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Detected } from '../config/detect.ts'
import { loadConfig } from '../config/load.ts'
import type { Mode } from '../proxy/request/settings.ts'
import { type Arrived, arrivalLines } from './arrival.ts'

const flavours = {
  known: { isKnown: true, label: 'Druid 33.0.0' },
  other: { isKnown: false, label: 'not Druid (version 0.36.1)' },
  lost: { isKnown: false, label: 'not reached: connect ECONNREFUSED 10.0.0.1:8888' },
} as const

interface Found extends Detected {
  readonly flavour: keyof typeof flavours
  readonly isReady?: boolean
  readonly mode?: Mode
}

function lines(yaml: string, found: Readonly<Record<string, Found>>, admin: Arrived['admin'] = usualAdmin) {
  const loaded = loadConfig({ file: { name: 'w.yaml', bytes: Buffer.from(yaml) } })
  assert.ok('config' in loaded)
  const databases = Object.entries(found).map(([name, { flavour, isReady = true, mode = 'on' }]) => {
    return { name, url: 'http://127.0.0.1:9191', flavour: flavours[flavour], isReady, mode }
  })
  const kinds = new Map(Object.entries(found))
  return arrivalLines({ config: loaded.config, kinds, databases, admin })
}

const usualAdmin = { url: 'http://127.0.0.1:9192' }

test('in front of a Druid, the output names the change for its own clients', () => {
  const yaml = 'backends: { main: { url: "http://router:8888" } }'
  const said = lines(yaml, { main: { kind: 'druid', isGuessed: false, flavour: 'known' } })
  assert.match(
    said[0]!,
    / is listening: http:\/\/127\.0\.0\.1:9191 → http:\/\/router:8888\/ \(Druid 33\.0\.0; caching is on\)$/,
  )
  assert.deepEqual(said.slice(1), [
    'In Grafana, set the URL of the Druid data source to http://127.0.0.1:9191',
    'In Superset, set the SQLAlchemy URI of the database to druid://127.0.0.1:9191/druid/v2/sql/',
    'Look inside: http://127.0.0.1:9192/-/ or windowpane top',
  ])
})

const routerYaml = 'backends: { main: { url: "http://router:8888" } }'

test('an assumption is shown as one, with the key that ends it', () => {
  const lost = { kind: 'druid', flavour: 'lost', isReady: false } as const
  const [assumed] = lines(routerYaml, { main: { ...lost, isGuessed: true } })
  assert.match(
    assumed!,
    /\(not reached: [^;]*:8888; assuming Druid, by its port \(set backends\.main\.type to be certain\); not ready: /,
  )
  const [written] = lines(routerYaml, { main: { ...lost, isGuessed: false } })
  assert.match(written!, /:8888; not ready: requests fail until it answers\)$/)
})

test('the first line shows whether caching is on', () => {
  const first = (found: Omit<Found, 'kind' | 'isGuessed'>): string =>
    lines(routerYaml, { main: { kind: 'druid', isGuessed: false, ...found } })[0]!
  assert.match(first({ flavour: 'known', mode: 'off' }), /\(Druid 33\.0\.0; caching is off: mode off\)$/)
  assert.match(first({ flavour: 'known', mode: 'shadow' }), /; caching is in shadow mode: /)
  assert.match(
    first({ flavour: 'other' }),
    /; caching is off until it is known to be Druid: requests are forwarded\)$/,
  )
  assert.match(first({ flavour: 'lost', isReady: false, mode: 'off' }), /; not ready: /)
})

test('an admin listener that could not be opened is reported with the consequence', () => {
  const known = { kind: 'druid', isGuessed: false, flavour: 'known' } as const
  const said = lines(routerYaml, { main: known }, { trouble: '127.0.0.1:9192 is taken.' })
  assert.equal(said.at(-1), 'There is no admin listener: 127.0.0.1:9192 is taken.')
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

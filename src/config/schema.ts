/**
 * The one definition of the configuration. The loader, the environment and flag names, `windowpane check --print`, the
 * JSON Schema, docs/reference/configuration.md and the plan of a reload are all made from it: a key that is added here
 * exists everywhere.
 */
import { kindNames, kinds, portRule } from '../backends/kinds.ts'
import { edgeTreatments } from '../engine/rewrites.ts'
import {
  authIsOneKind,
  headerIsNoCredential,
  headersAreListed,
  headersHaveCollector,
  matcherIsOne,
  ruleDoesSomething,
  socketHasOneUrl,
  usualAdminAddress,
  wholeConfigurationChecks,
} from './checks.ts'
import {
  inherited,
  key,
  list,
  named,
  nested,
  optional,
  required,
  secret,
  section,
  type TypeValue,
} from './definition.ts'
import { databaseUrl, exceptionsAreOfItsKind, keysAreOfItsKind, kindKeys, supporters } from './kind-keys.ts'
import { limitsSection } from './limits-section.ts'
import { instantSection, objectsSection } from './objects-section.ts'
import { policySection } from './policy-types.ts'
import { concurrencySection, quotasSection } from './quotas-section.ts'
import { runtimeSection } from './runtime-section.ts'
import { bool, choice, duration, ratio, workers } from './scalars.ts'
import { storeSection } from './store-types.ts'
import {
  address,
  collectorUrl,
  headerName,
  hidden,
  hostName,
  nameOf,
  path,
  pattern,
  text,
  urlPath,
} from './text-scalars.ts'
import { certificateIsWhole, refusedTlsKeys } from './tls-check.ts'

const mode = choice('off', 'shadow', 'on')
const edges = choice(...edgeTreatments)
const identity = choice('separate', 'shared', 'headers', 'user')

const listenerTls = section(
  {
    cert: optional(path, 'certificate chain (PEM); read again when it changes'),
    key: optional(path, 'private key (PEM)'),
  },
  { checks: [certificateIsWhole] },
)

const upstreamTls = section(
  {
    ca: optional(path, 'certificate authorities to trust (PEM), instead of those of the system'),
    cert: optional(path, 'client certificate (PEM)'),
    key: optional(path, 'private key of the client certificate (PEM)'),
    serverName: optional(hostName, 'the name the certificate must have, if not that of the URL'),
  },
  {
    checks: [certificateIsWhole],
    refused: refusedTlsKeys,
  },
)

const auth = section(
  {
    username: optional(text, 'basic authentication: the user'),
    passwordFile: optional(path, 'basic authentication: the file with the password'),
    password: secret(hidden, 'basic authentication: the password itself'),
    tokenFile: optional(path, 'bearer authentication: the file with the token; read again when it changes'),
    token: secret(hidden, 'bearer authentication: the token itself'),
  },
  { checks: [authIsOneKind] },
)

const route = section({
  host: optional(hostName, 'requests to this host name'),
  path: optional(urlPath, 'requests below this path; the prefix is removed before they are forwarded'),
})

const negative = section({
  trailing: key(choice('floor', 'off'), 'floor', {
    meaning:
      'empty buckets at the end of an answer that are not settled, whose data may only be late. `floor`: they are cached for the shortest TTL of the policy, whatever their age; `off`: they are not cached',
  }),
})

const backend = section(
  {
    type: key(choice('auto', ...kindNames), 'auto', {
      meaning: `the kind of database; \`auto\`: detected when it is opened or, where that fails, assumed from the port: ${portRule}`,
      apply: 'reopen',
    }),
    url: required(
      list(databaseUrl(kinds), 1),
      'the URL of the database, or several of equal ones; its path is put before that of every request',
      { apply: 'reopen' },
    ),
    socket: optional(path, 'a unix socket to connect to instead of the host of the URL', {
      apply: 'reopen',
    }),
    mode: key(mode, 'on', {
      meaning:
        "`off`: requests are forwarded; `shadow`: requests are forwarded, and the answers of the cache are compared with the database's; `on`: answers come from the cache where they can",
    }),
    listen: optional(address, 'an address of its own for this backend', { apply: 'reopen' }),
    route: nested(route, 'which requests of the common address are for this backend', { apply: 'reopen' }),
    identity: key(identity, 'separate', {
      meaning:
        'which clients share answers. `separate`: clients with equal credentials, cookies and tenants; `headers`: clients with equal values of `identityHeaders`; `user`: clients with the same user name and tenant (only Grafana, or the proxy that sets the user header, may then reach the listener); `shared`: all clients',
    }),
    identityHeaders: key(list(headerName), [], { meaning: 'the headers for `identity: headers`' }),
    policy: key(nameOf('policies', 'policy'), 'default', { meaning: 'the TTL policy' }),
    store: key(nameOf('stores', 'store'), 'memory', { meaning: 'where buckets are kept', apply: 'reopen' }),
    edges: key(edges, 'exact', {
      meaning: `windows that begin or end within a bucket (${supporters(kinds, 'edges')}). \`exact\`: as requested. \`whole\`: the window is widened to whole buckets: the first and the last are complete instead of cut. \`now\`: only where the window ends now, or at most one floor of the policy earlier: the last bucket is whole, and the window begins up to one floor earlier. Named in \`Cache-Status\``,
    }),
    align: key(bool, false, {
      meaning: `${supporters(kinds, 'align')}: \`true\` floors start and end to multiples of the step, so that clients whose ranges begin at any instant share answers. Named in \`Cache-Status\``,
    }),
    maxStale: inherited(
      duration({ min: 0 }),
      'limits.maxStale',
      'how long after its TTL a bucket may be served in an outage',
    ),
    negative: nested(negative, 'empty buckets'),
    concurrency: nested(concurrencySection, 'how many queries the database is given at once'),
    objects: nested(objectsSection(kinds), 'answers that are cached as a whole'),
    instant: nested(instantSection, 'queries that are evaluated at one instant'),
    tls: nested(upstreamTls, 'TLS to the database', { apply: 'reopen' }),
    auth: nested(auth, 'how Windowpane itself logs in, where a client does not', { apply: 'reopen' }),
    ...kindKeys(kinds),
  },
  { checks: [headersAreListed, socketHasOneUrl, keysAreOfItsKind(kinds), exceptionsAreOfItsKind(kinds)] },
)

const conditions = {
  equals: optional(text, 'the whole text'),
  contains: optional(text, 'a part of it'),
  regex: optional(
    pattern,
    'a regular expression in [RE2 syntax](https://github.com/google/re2/wiki/Syntax) that is found in it; matching takes linear time, so that no client can hold up all requests, and there are no backreferences and lookarounds. Requests with a text of more than 32 KiB (less for large patterns) to be matched are forwarded uncached',
  ),
}
const matcher = section(conditions, { checks: [matcherIsOne] })
const headerMatcher = section(
  { name: required(headerName, 'the header; without a condition it need only be there'), ...conditions },
  { checks: [matcherIsOne, headerIsNoCredential] },
)

const match = section({
  backend: optional(nameOf('backends', 'backend'), 'only requests to this backend'),
  path: nested(matcher, 'the path of the request'),
  userAgent: nested(matcher, 'the User-Agent header'),
  query: nested(matcher, 'the text of the query'),
  headers: key(list(headerMatcher), [], { meaning: 'headers; all must match' }),
})

const rule = section(
  {
    name: optional(text, 'the name of the rule in explanations'),
    match: nested(match, 'which requests; all that is written must match'),
    policy: optional(nameOf('policies', 'policy'), 'another TTL policy'),
    edges: optional(edges, 'another treatment of windows that begin or end within a bucket'),
    align: optional(bool, 'whether start and end are floored to multiples of the step'),
    maxStale: optional(duration({ min: 0 }), 'another limit of staleness; 0s never serves stale'),
    bypass: key(bool, false, { meaning: 'pass on uncached' }),
    identity: optional(identity, 'another identity'),
    identityHeaders: key(list(headerName), [], { meaning: 'the headers for `identity: headers`' }),
    mode: optional(mode, 'another mode'),
    objects: key(bool, true, { meaning: '`false`: their answers are not cached as a whole' }),
  },
  { checks: [headersAreListed, ruleDoesSomething] },
)

const admin = section({
  enabled: key(bool, true, { meaning: 'whether there is an admin listener', apply: 'restart' }),
  listen: key(address, usualAdminAddress, { meaning: 'its address', apply: 'restart' }),
  allowWrites: key(bool, false, {
    meaning: 'whether it may purge, mark as changed, learn, reload and switch modes',
  }),
  tokenFile: optional(path, 'the file with the bearer token that it requires'),
  token: secret(hidden, 'the bearer token itself'),
})

const node = section({
  name: optional(text, 'the name of this node where several share a store; by default the host name', {
    apply: 'restart',
  }),
})

const traces = section(
  {
    endpoint: optional(
      collectorUrl,
      'where traces are sent: an OpenTelemetry collector (OTLP over HTTP, JSON); without it, nowhere',
      { apply: 'restart' },
    ),
    sampleRatio: key(ratio(1), 1, {
      meaning: 'which share of the requests without a `traceparent` of their own is traced',
    }),
    headersFile: optional(
      path,
      'a file with headers for the collector, one `Name: value` per line; read again when it changes',
      { apply: 'restart' },
    ),
  },
  { checks: [headersHaveCollector] },
)

const telemetry = section({
  logLevel: key(choice('debug', 'info', 'warn', 'error', 'silent'), 'info', {
    meaning: 'the least severe level that is logged',
  }),
  logFormat: key(choice('auto', 'json', 'text'), 'auto', {
    meaning: 'how it is written; `auto`: as text where stderr is a terminal, as JSON elsewhere',
  }),
  traces: nested(traces, 'traces of requests'),
})

export const definition = section(
  {
    listen: key(address, '127.0.0.1:9191', {
      meaning: 'the address of the proxy; port 0 takes a free one',
      apply: 'restart',
    }),
    workers: key(workers, 1, {
      meaning:
        'threads that serve requests, all on the same addresses and from one cache; `auto`: as many as there are cores',
      apply: 'restart',
    }),
    tls: nested(listenerTls, 'TLS on the listeners of the proxy', { apply: 'restart' }),
    limits: nested(limitsSection, 'bounds on memory, sizes, numbers and waiting'),
    runtime: nested(
      runtimeSection,
      'features that rely on internals of Node and V8: switch one off to rule it out as a cause, or where a version of them works differently',
      { apply: 'restart' },
    ),
    policies: nested(named(policySection, { expected: 'policy', builtIn: ['default'] }), 'TTL policies'),
    stores: nested(
      named(storeSection, { expected: 'store', builtIn: ['memory'] }),
      'where buckets are kept',
      {
        apply: 'restart',
      },
    ),
    backends: nested(named(backend, { expected: 'backend', min: 1 }), 'the databases'),
    quotas: nested(quotasSection, 'quotas of clients: token buckets'),
    rules: key(list(rule), [], { meaning: 'exceptions; the first rule that matches decides' }),
    admin: nested(admin, 'the admin listener', { apply: 'restart' }),
    node: nested(node, 'this process among the nodes that share a store'),
    telemetry: nested(telemetry, 'logs and traces'),
  },
  { checks: wholeConfigurationChecks },
)

export type Config = TypeValue<typeof definition>
export type BackendConfig = TypeValue<typeof backend>
export type RuleConfig = TypeValue<typeof rule>
export type MatcherConfig = TypeValue<typeof matcher>

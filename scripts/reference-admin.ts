/** The page of the admin API, from the list that the listener itself answers with. */
import type { AdminOptions } from '../src/proxy/admin/admin.ts'
import type { LiveRequests } from '../src/proxy/admin/live.ts'
import type { Page } from '../src/proxy/admin/page.ts'
import { pagesOf } from '../src/proxy/admin/pages.ts'
import { storeStates } from '../src/stores/figures.ts'

/** All pages that can be served; none of them is called here. */
const whole = {
  ...{ purge: {}, shadow: { modes: new Map() }, ttl: () => new Map() },
  limits: () => undefined,
} as unknown as AdminOptions

export function adminPage(note: string): string {
  const rows = [...pagesOf(whole, {} as LiveRequests)].filter(([, page]) => page.about !== '').map(rowOf)
  return `${note}
# Admin API

A listener of its own: \`admin.listen\`, 127.0.0.1:9192 by default. None of it can be reached through the address of the
proxy. \`GET /-/\` lists the pages; \`windowpane explain\`, \`top\`, \`tail\`, \`ttl\`, \`purge\`, \`shadow\`, \`mode\`, \`limits\` and
\`doctor\` are made from them.

| method and path | needs | effect |
| --- | --- | --- |
${rows.join('')}
*token*: the bearer token of \`admin.token\` or \`admin.tokenFile\`, where there is one. *writes*: \`admin.allowWrites: true\`
(with \`?dryRun=1\` nothing is changed, and it is not needed). On loopback the Host header must name loopback, so that no
web page can reach it under a name of its own.

Answers are JSON unless the table names another format; lists are one line per entry. A mistake in a request is a 400 with a
sentence that names the change to make, a missing token 401, a write that is not allowed 403, an unknown path 404, another
method 405, a body over 1 MiB (16 MiB for \`/-/ttl/learn\` and \`/-/limits/apply\`) 413.

\`/-/ready\` is 200 once every database has answered, of whatever kind: requests to an unknown kind are forwarded. Until
then each request for it starts another check. \`/-/status\` has the process (\`pid\`), the source of its configuration, since when that is
in force, the result of the last reload, and for each URL of a database its health and its last error. \`?run=1\` of
\`/-/explain\` runs queries and nothing else.

\`learning\` of a backend in \`/-/status\` describes the evidence: \`events\` observed since the start, by all threads of the
process; \`shapes\` and \`sources\` (metrics or data sources) that it has evidence about; \`rows\` of evidence in the store, of this node (\`own\`) and of
others (\`foreign\`); and events that were \`dropped\` on the way between threads, because the main thread was behind.
\`refetched\` counts stored buckets that were fetched again, by result.

A backend with a staleness budget has \`staleness\`: the \`budget\`; \`groups\` of ages, each with its measurement (as in \`/-/ttl\`), the shortest
TTL at these ages (\`ttlS\`) and its bound (\`boundBy\`: \`floor\`, \`cap\`, both or neither); and \`isKept\`: \`false\` where the low end of a
group is above the budget, \`true\` where no high end is, \`null\` where the samples are inconclusive. Groups without samples, and groups that the floor
binds, do not count in it. It covers all nodes that share a store.

## Stores

\`stores\` of \`/-/status\` lists the memory of the process and every far store in use: \`name\`, \`engine\` (the type of the
configuration), \`state\`, \`detail\` (a sentence), \`trouble\` (a stable word, where something is wrong), its circuit breaker and its counts.

| state | meaning |
| --- | --- |
${Object.entries(storeStates)
  .map(([state, meaning]) => `| \`${state}\` | ${meaning} |`)
  .join('\n')}

## Explain

The body is that of a query as its client would send it: a form for Prometheus, JSON for Druid, native or SQL. Or it is a whole
request: a JSON object of \`method\`, \`path\`, \`search\`, \`headers\` and \`body\`, and nothing else. \`?path=\` names the path of a
query that is not sent to the usual path.

## Purge

The body is one JSON object: any of \`backend\`, \`shape\` (a key of \`/-/shapes\`, or the text of a query), \`source\` (a metric
or a data source),
\`from\` and \`to\`, which all must apply; or \`all\`. Times are RFC 3339, seconds since 1970, \`now\`, or \`-2h\`. The interval is that of
the data: buckets that look back into it are purged too. The answer counts shapes and buckets, and a dry run returns
the same counts.

## Changed

For jobs that rewrite data: \`POST /-/changed\` with \`{"backend": "main", "source": "http_requests_total", "from": "2026-01-01T00:00:00Z",
"to": "2026-01-02T00:00:00Z"}\`, and \`{"marks": 1}\` is the answer. Times are those of a purge and mean the data. One of \`source\`, \`from\`
and \`to\` is needed; \`backend\` is where there are several. Stored buckets that were computed from this data and fetched before the
request are no longer fresh. Unlike purged ones they are served while the database does not answer. \`marks\` is the number of marks that were
made, one for the store of the backend; \`/-/marks\` lists them, as \`stale\`. Send it when the job is done: buckets that are fetched while it runs are
fetched again only after the next mark.

## TTLs

\`GET /-/ttl\` answers with a list of \`{"backend", "budget", "classes"}\`, one per backend, and one with \`rule\` per rule that has a policy of its
own. \`?shape=\` (a key of \`/-/shapes\`, or the text of a query) selects the curve of one shape, \`shape\` is then its key. \`budget\` is a
share, or \`null\` for a policy without one. A class has

| field | meaning |
| --- | --- |
| \`ageFromS\`, \`ageToS\` | ages of buckets in seconds, from their end; \`null\` where there is no bound: the first class holds buckets that are not over yet |
| \`rate\`, \`rateUpper95\` | changes per second, and the upper 95 % bound; \`null\` where none is known. Of \`type: rate\` the configured one |
| \`observations\` | refetched buckets that it is based on, discounted with time |
| \`ttlS\` | the shortest TTL of the class, in seconds |
| \`source\` | where the rate comes from: \`shape\`, \`source\` (shapes of the same metric or data source), \`backend\`, \`prior\` (the published ladder); \`configured\`: the TTL is that of a policy that does not learn |
| \`boundBy\` | \`floor\` or \`cap\` where it binds the TTL instead of the budget, or \`null\` |
| \`staleness\` | \`estimate\`, \`low\`, \`high\` (95 %) and \`error\` as shares, of so many \`samples\`; without samples 0, 0 and 1. Measured in six groups of ages (0, 2 min, 10 min, 1 h, 6 h, 24 h): of the one that the class begins in, of the last for the last class |

\`POST /-/ttl/learn\` takes JSON lines such as \`{"shape": "up", "age": 600, "gap": 60, "changed": false}\`: a bucket that was 600 s old was fetched
again after 60 s and had not changed. \`shape\` is a key or the text of a query; a shape without requests yet teaches the backend as a
whole. Lines of one shape that follow each other count as one fetch, so that buckets which changed together are noticed. A line that
cannot be read is a 400 with its number, and nothing is learned. Without a body, \`?samples=\` buckets (100 by default) of shapes that were fetched
within the last ten minutes are fetched twice, \`?gap=\` (1s to 1h; 60s by default) apart, with the headers of the clients that requested
them; the answer comes after that. It is a 400 where no shape was fetched, or where samples are being taken already. The answer is
\`{"backend", "observations", "changed", "shapes"}\`.

## Limits

Quotas have limits at four levels: of an entity (a client) at one resource (a backend), of an entity, of a resource, of the system. The first of
them that has limits is in force, as a whole. Limits of resources and of the system may also be in the configuration; stored ones
replace them. The pages exist where the configuration has the section \`quotas\`.

\`GET /-/limits?entity=team-a\` returns the limits in force and their remaining tokens: \`{"entity", "resource", "parent", "source", "limits"}\`. \`source\` is \`entity\`,
\`entity_default\`, \`resource\`, \`system\`, or \`null\` where there are none. A limit has \`name\`, \`capacity\`, \`refillAmount\`, \`refillPeriodSeconds\`, \`available\`
(tokens; below 0 in debt) and \`ttl\`: in so many seconds its row may be collected, or \`"none"\` where it is kept. Without \`resource\` the first
backend is meant. Without \`entity\` everything that is set is listed, with its \`level\`, \`from\` (\`store\` or \`configuration\`) and whether it is \`managed\` by a
declaration.

\`PUT\` takes \`{"limits": [{"name": "requests", "capacity": 1000, "refillAmount": 100, "refillPeriodSeconds": 60}]}\` for \`?system=1\`, \`?resource=\`, \`?entity=\` or
an entity at a resource. A limit may also be a text, \`"requests:100/min:1000"\`; without a refill it gets its capacity every 60 s.
\`{"parent": "company"}\` makes another entity the parent: a request takes from its limits for the same resource as well. \`DELETE\` removes the limits, with \`&parent=1\` the
parent. The answer is \`{"changed", "version"}\`. A change holds at once in the process that made it, elsewhere within 60 s, and reaches buckets that are in use.
409 means that others kept changing the same limits, 503 that the store failed: then the change may have been made or not.

Names of entities have up to 256 characters: letters, digits and \`_ . - : @\`, and begin with a letter or a digit. Names of resources and limits have up to
64 (\`_ . -\`, resources also \`/\`) and begin with a letter. A set has up to 16 limits.

\`POST /-/limits/apply\` takes a declaration: \`{"limits": [...], "resources": {"main": [...]}, "entities": {"team-a": {"parent": "company", "limits": [...],
"resources": {"main": [...]}}}}\`. Limits that it names are created or updated; limits that an earlier declaration has set and it does not name are deleted; limits set in
another way stay (\`keep\`) unless \`?adopt=1\`. The answer has \`changes\` (\`action\`, \`level\`, \`before\`, \`after\`), and the numbers of \`unchanged\` and \`changed\` ones.

\`/-/limits/usage\` has one entry per entity, resource and window, the latest first: \`start\`, \`permits\`, \`refusals\`, and \`tokens\` by limit, refunds subtracted. It covers
all processes that share the store, up to 30 s ago for others. Entities beyond 10 000 in a window are counted together as \`_other_\`. A
process that dies loses its last 30 s. \`/-/limits/audit\` has \`at\`, \`by\` (the value of \`?by=\`, which is not verified), \`from\` (the address), \`action\`, \`before\` and \`after\`. A
change without such an entry cannot happen; an entry without its change can, where the store failed. Both are kept for 90 days.

## Nodes

Where several nodes share a store, \`/-/status\` has all of them in \`nodes\` and their totals in \`fleet\`; \`/-/shapes\` and
\`/-/shadow\` add up all that are up. \`?node=\` names one by its name or id. \`fleet.state\` is \`shared\`, \`alone\`, or \`unreachable\`
where a shared store does not answer: then everything is about this node alone. Answers to \`/-/mode\` and \`/-/purge\` have \`reach\`:
the number of nodes at which the change takes effect, and after how many seconds. [Several replicas](../guide/replicas.md) has the rules.

## Live requests

\`GET /-/requests\` with \`Accept: text/event-stream\` sends each decision as a server-sent event with the same fields as the
list. A reader that is too slow loses events; the stream reports how many.
`
}

function rowOf([path, page]: [string, Page]): string {
  const needs = [page.isOpen ? 'nothing' : 'token', ...(page.isWriting ? ['writes'] : [])]
  return `| \`${page.methods.join(', ')} ${path}\` | ${needs.join(', ')} | ${page.about.replaceAll('|', '\\|')} |\n`
}

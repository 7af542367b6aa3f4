/** Checks the databases: they answer, have the configured kind, a correct clock, and settings that fit ours. */
import type { ConnectedDatabase, DatabaseKind, Subject } from '../../backends/kind.ts'
import { type KindName, kinds, knownDatabases } from '../../backends/kinds.ts'
import { type Judgement, judge } from '../../config/judge.ts'
import { exceptionsAreOfItsKind, keysAreOfItsKind } from '../../config/kind-keys.ts'
import { policyOf } from '../../config/policy-types.ts'
import { connectTo } from '../../config/probe.ts'
import type { BackendConfig, Config } from '../../config/schema.ts'
import type { Clock } from '../../core/clock.ts'
import { WindowpaneError } from '../../core/errors.ts'
import { type Finding, found } from '../../core/finding.ts'
import { withoutCredentials } from '../../core/url.ts'
import { causeOf } from '../admin-client.ts'
import { oneLine } from '../text.ts'

/** One database at one URL. */
interface CheckedDatabase {
  readonly name: string
  readonly url: string
  readonly backend: BackendConfig
  readonly config: Config
}

export async function checkDatabases(config: Config, clock: Clock): Promise<Finding[]> {
  const databases = Object.entries(config.backends).flatMap(([name, backend]) =>
    backend.url.map((url): CheckedDatabase => ({ name, url, backend, config })),
  )
  return (await Promise.all(databases.map((checked) => checkOne(checked, clock)))).flat()
}

async function checkOne(checked: CheckedDatabase, clock: Clock): Promise<Finding[]> {
  const { name, url, backend } = checked
  const about = found(`database ${name}`)
  const shown = withoutCredentials(url)
  let database: ConnectedDatabase | undefined
  try {
    database = await connectTo(backend, url)
    const judgement = await judge(database, backend, url)
    const flavour = flavourFinding(name, shown, judgement)
    // Further queries are pointless: a server that is no database has no true answer to them.
    if (judgement.verdict === 'other') return [flavour]
    const kind: DatabaseKind = kinds[judgement.recognised.kind]
    // One more query: the duration of all queries together would be less exact for the clock.
    const sentAt = clock.now()
    const { date } = await database.get(kind.flavour.path)
    const skew = skewFinding(name, date, { sentAt, receivedAt: clock.now() })
    const keys = judgement.verdict === 'known' ? keyFindings(checked, judgement.recognised.kind) : []
    return [flavour, skew, ...keys, ...(await kind.examine(subjectOf(checked), database))]
  } catch (error) {
    if (error instanceof WindowpaneError) {
      const sentence = `${shown} was not queried: ${error.message}.`
      return [about.fail(sentence, `Check backends.${name}.tls and backends.${name}.auth.`)]
    }
    const remedy = `Check backends.${name}.url, the network and TLS.`
    return [about.fail(`${shown} does not answer: ${causeOf(error)}.`, remedy)]
  } finally {
    await database?.close()
  }
}

/** With `type: auto` the keys of every kind can be written: those of another one than was detected have no effect. */
function keyFindings({ name, backend }: CheckedDatabase, type: KindName): Finding[] {
  const findings: Finding[] = []
  const report = (path: string, problem: string) => {
    const remedy = `Take backends.${name}.${path} out.`
    findings.push(found(`keys ${name}`).warn(`${path} ${problem}.`, remedy))
  }
  for (const { run } of [keysAreOfItsKind(kinds), exceptionsAreOfItsKind(kinds)])
    run({ ...backend, type } as never, report)
  return findings
}

function subjectOf({ name, backend, config }: CheckedDatabase): Subject {
  const policy = policyOf(config.policies[backend.policy]!)
  const { upstreamTimeoutMs } = config.limits
  return {
    name,
    own: backend,
    upstreamTimeoutMs,
    policy: {
      name: backend.policy,
      ttl: (ageMs) => policy.ttl(ageMs),
      isLearned: policy.learns !== undefined,
    },
  }
}

function flavourFinding(name: string, url: string, { verdict, found: what, remedy }: Judgement): Finding {
  const about = found(`database ${name}`)
  const said = oneLine(what)
  if (verdict === 'known') return about.ok(`${url} is ${said}.`)
  if (verdict === 'other') return about.fail(`At ${url} ${said}.`, `backends.${name}.url: ${remedy}`)
  if (verdict === 'closed') return about.warn(`${url} ${said}.`, `backends.${name}.auth: ${remedy}`)
  const passed = `Only ${knownDatabases} are known to be decomposable; others are forwarded.`
  return about.warn(`${url} answers: ${said}.`, passed)
}

/** Date headers are cut to whole seconds. */
const dateCutMs = 500
const mostSkewMs = 2_000

export function skewFinding(
  name: string,
  date: string | undefined,
  { sentAt, receivedAt }: { readonly sentAt: number; readonly receivedAt: number },
): Finding {
  const about = found(`clock ${name}`)
  const theirs = Date.parse(date ?? '')
  if (Number.isNaN(theirs)) return about.skip('The database sends no Date header.')
  const skewMs = theirs + dateCutMs - (sentAt + receivedAt) / 2
  const allowedMs = mostSkewMs + (receivedAt - sentAt) / 2
  if (Math.abs(skewMs) <= allowedMs) {
    return about.ok(
      `The database's clock agrees with this machine's, as far as its Date header shows (±1 s).`,
    )
  }
  const text = `${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's`
  const remedy = 'Let both machines take their time from NTP: how fresh a bucket is depends on it.'
  return about.warn(`The database's clock is ${text}.`, remedy)
}

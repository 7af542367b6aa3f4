/** The state of a running proxy: its status, and suggestions from its figures. */

import { type Finding, found } from '../../core/finding.ts'
import { dayMs } from '../../core/iso.ts'
import { version } from '../../version.ts'
import { type AdminClient, type AdminReply, askAdmin, fetchJson } from '../admin-client.ts'
import { Failure, orFailure } from '../exit-codes.ts'
import { type ProxyStatus, proxyText, type UpstreamStatus } from '../proxy-identity.ts'
import type { ShadowAnswer, ShadowBackend } from '../shadow-text.ts'
import { bytesText, oneLine, secondsText } from '../text.ts'
import type { TopShape } from '../top-text.ts'
import { readSamples, type Sample, sumOf } from './samples.ts'
import { bypassFinding, hitFinding, identityFindings, phaseFindings } from './traffic.ts'

const patienceMs = 5_000

/** Findings, or undefined where no proxy answers. */
export async function checkProxy(admin: AdminClient): Promise<Finding[] | undefined> {
  const ask = (path: string) => orFailure(askAdmin(admin, path, { patienceMs }))
  const read = <T>(path: string) => orFailure(fetchJson<T>(admin, path, { patienceMs }))
  // Needs no token: whatever fails after it is not for want of a listener.
  if ((await ask('/-/healthy')) instanceof Failure) return undefined
  const status = await read<ProxyStatus>('/-/status')
  if (status instanceof Failure)
    return [found('proxy').fail(`${status.message}.`, status.remedy ?? 'Look at its log.')]
  const [ready, shapes, metrics, shadow] = await Promise.all([
    ask('/-/ready'),
    read<readonly TopShape[]>('/-/shapes?limit=1000'),
    ask('/-/metrics'),
    read<ShadowAnswer>('/-/shadow'),
  ])
  const samples = metrics instanceof Failure || metrics.status !== 200 ? [] : readSamples(metrics.text)
  const rows = shapes instanceof Failure ? [] : shapes
  const shadows = shadow instanceof Failure ? [] : shadow.backends
  return [
    versionFinding(status, admin),
    readyFinding(ready),
    ...outageFindings(status),
    ...reloadFindings(status, samples),
    ...pressureFindings(status, samples),
    ...storeFindings(samples),
    ...segmentFindings(samples),
    ...modeFindings(shadows, status, admin.io.clock.now()),
    hitFinding(samples),
    bypassFinding(samples),
    ...phaseFindings(rows),
    ...identityFindings(rows),
  ]
}

function versionFinding(status: ProxyStatus, admin: AdminClient): Finding {
  const about = found('proxy')
  const text = `${proxyText(admin, status)}, up ${secondsText(status.uptimeSeconds ?? 0)}`
  if (status.version === version) return about.ok(`${text}.`)
  return about.warn(
    `${text}; this command is ${version}.`,
    'Use the command of the same version, or restart the proxy.',
  )
}

function readyFinding(ready: AdminReply | Failure): Finding {
  const about = found('readiness')
  if (ready instanceof Failure) return about.fail(`It does not answer: ${ready.message}.`, 'Look at its log.')
  if (ready.status === 200) return about.ok('It is ready: every database has answered since it started.')
  return about.fail(`It is ${oneLine(ready.text)}.`, 'Until then requests fail; check the database.')
}

/** Once ready, a proxy stays ready: it serves stored answers in an outage. The outage is reported here. */
function outageFindings({ backends = [] }: ProxyStatus): Finding[] {
  const isSilent = (upstream: UpstreamStatus): boolean => upstream.healthy === false || upstream.failures > 0
  return backends.flatMap(({ name, upstreams }) =>
    upstreams.filter(isSilent).map(({ url, lastError = 'no answer' }) => {
      const sentence = `The proxy cannot reach ${url} now: ${oneLine(lastError)}.`
      const remedy =
        'Stored answers are served for as long as maxStale allows; check the database and the network.'
      return found(`upstream ${name}`).warn(sentence, remedy)
    }),
  )
}

const gauge = (samples: readonly Sample[], name: string): number | undefined =>
  samples.find((sample) => sample.name === name)?.value

/** Why, too: a file that `check` finds nothing wrong with is refused where a change needs a restart. */
function reloadFindings({ configuration }: ProxyStatus, samples: readonly Sample[]): Finding[] {
  if (gauge(samples, 'windowpane_config_last_reload_successful') !== 0) return []
  const why = configuration?.lastReload?.message
  const sentence = `The last configuration that was read was refused${why === undefined ? '' : `: ${why}`}`
  const remedy = 'The earlier one is in force. Mend the file, or restart the proxy where a change needs that.'
  return [found('reload').warn(sentence, remedy)]
}

const fullShare = 0.95

function pressureFindings({ memory }: ProxyStatus, samples: readonly Sample[]): Finding[] {
  if (memory === undefined || memory.limit === 0) return []
  const about = found('cache memory')
  const evictions = samples.filter(({ name }) => name === 'windowpane_evictions_total')
  const evicted = sumOf(evictions.filter(({ labels }) => labels['reason'] === 'memory'))
  const text = `${bytesText(memory.used)} of ${bytesText(memory.limit)} are used`
  if (evicted === 0 && memory.used < fullShare * memory.limit) return [about.ok(`${text}.`)]
  const left = evicted === 0 ? '' : `, and ${evicted} times buckets had to leave for others`
  return [
    about.warn(`${text}${left}.`, 'Raise limits.memory, or keep settled buckets in a store of type lmdb.'),
  ]
}

function storeFindings(samples: readonly Sample[]): Finding[] {
  return samples
    .filter(({ name, value }) => name === 'windowpane_store_degraded' && value === 1)
    .map(({ labels }) =>
      found(`store ${labels['store']}`).warn(
        'The proxy cannot use it as it should: missing, full, damaged, failing or too slow.',
        'windowpane doctor on the machine of the proxy checks its folder; /-/status has the details.',
      ),
    )
}

function segmentFindings(samples: readonly Sample[]): Finding[] {
  return samples
    .filter(({ name }) => name === 'windowpane_segments_trusted')
    .map(({ labels, value }) => {
      const backend = labels['backend'] ?? ''
      const of = (name: string): number | undefined =>
        samples.find((each) => each.name === name && each.labels['backend'] === backend)?.value
      const about = found(`segments ${backend}`)
      const age = secondsText(of('windowpane_segments_view_age_seconds') ?? 0)
      if (value === 1) {
        const seen = `${of('windowpane_segments_watched') ?? 0} segments were seen ${age} ago`
        const marked = of('windowpane_segments_marked_total') ?? 0
        return about.ok(`${seen}, and ${marked} intervals were marked as changed.`)
      }
      const remedy = `/-/status has the reason; the account of backends.${backend}.auth has to read sys.segments and the data sources.`
      const sentence = `Its segments have not been seen for ${age}: settled buckets are under the TTL policy.`
      return about.warn(sentence, remedy)
    })
}

/** Shadow mode is a trial: left on, it has the costs of a cache without its use. */
function modeFindings(backends: readonly ShadowBackend[], status: ProxyStatus, now: number): Finding[] {
  return backends.flatMap(({ backend, mode, since, verdict }) => {
    const about = found(`mode ${backend}`)
    const heldBack = status.backends?.find(({ name }) => name === backend)?.heldBack
    if (heldBack !== undefined) return about.ok(`It stays in shadow mode for now: ${oneLine(heldBack)}.`)
    const switchOn = `windowpane mode ${backend} on`
    if (mode === 'off')
      return about.warn('Caching is switched off.', `${switchOn}, or backends.${backend}.mode.`)
    if (mode !== 'shadow') return []
    if (verdict === 'safe') {
      const sentence = 'It is in shadow mode, and the comparisons show that it is safe to switch on.'
      return about.warn(sentence, switchOn)
    }
    const forMs = since === undefined ? 0 : now - Date.parse(since)
    if (forMs > dayMs) {
      const sentence = `It has been in shadow mode for ${secondsText(forMs / 1000)}: nothing is served from the cache.`
      return about.warn(sentence, 'windowpane shadow report shows the obstacles.')
    }
    return about.ok('It is in shadow mode; windowpane shadow report shows its state.')
  })
}

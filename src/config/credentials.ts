/** A URL from the environment or the command line may hold user and password: they move to where secrets are kept. */
import { percentDecoded } from '../core/url.ts'
import type { BackendConfig, Config } from './schema.ts'
import { Secret } from './secret.ts'
import type { Source } from './source.ts'

export function withCredentialsApart(config: Config, sources: Map<string, Source>): Config {
  const backends: Record<string, BackendConfig> = Object.create(null)
  for (const [name, backend] of Object.entries(config.backends)) {
    const at = backend.url.findIndex(hasCredentials)
    const source = sources.get(`backends.${name}.url.${at}`)
    backends[name] = source === undefined ? backend : apart(backend, at)
    if (source === undefined || backends[name].auth === backend.auth) continue
    sources.set(`backends.${name}.auth.username`, source).set(`backends.${name}.auth.password`, source)
  }
  return { ...config, backends }
}

const hasCredentials = (text: string): boolean => {
  const { username, password } = new URL(text)
  return username !== '' || password !== ''
}

function apart(backend: BackendConfig, at: number): BackendConfig {
  const { username, password } = new URL(backend.url[at]!)
  const url = backend.url.map((text) => text.replace(/\/\/[^/]*@/, '//'))
  // Explicit credentials take precedence over those in a URL.
  if (Object.values(backend.auth).some((value) => value !== undefined)) return { ...backend, url }
  const auth = {
    ...backend.auth,
    username: percentDecoded(username) ?? username,
    password: new Secret(percentDecoded(password) ?? password),
  }
  return { ...backend, url, auth }
}

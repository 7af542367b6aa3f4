/** How the allocator and the runtime are set where Windowpane is deployed: benchmarks of memory start it in the same way. */
import { readFileSync } from 'node:fs'

const setting = /(MALLOC_\w+|NODE_OPTIONS)=([^\s\\]+)/g

/** The settings of the allocator and the runtime in a file of `deploy/`. */
export function environmentIn(file: string): Record<string, string> {
  const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8')
  return Object.fromEntries([...text.matchAll(setting)].map(([, name, value]) => [name!, value!]))
}

export const containerEnvironment = (): Record<string, string> => environmentIn('docker/Dockerfile')

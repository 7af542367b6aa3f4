/** Copies the files that the Helm chart needs of the repository into it: a packaged chart has no links. Part of `npm run docs`. */
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** The copy, then its original. */
export const chartCopies: readonly (readonly [string, string])[] = [
  ['deploy/helm/windowpane/files/alerts.yaml', 'deploy/alerts/windowpane.yaml'],
  ['deploy/helm/windowpane/files/dashboard.json', 'deploy/grafana/windowpane.json'],
]

export async function copyChartFiles(): Promise<void> {
  for (const [copy, original] of chartCopies) await copyFile(join(root, original), join(root, copy))
}

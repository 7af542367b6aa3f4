/** Servers of PromQL's family, built from their Go modules: a quarter of an hour each, once per machine. */
import type { GoProgram } from '../go.ts'

/** Without the tag it builds, starts, and answers 200 with an empty result. */
export const thanos: GoProgram = {
  module: 'github.com/thanos-io/thanos',
  version: 'v0.42.4',
  package: './cmd/thanos',
  release: '0.42.4',
  releaseVariable: 'github.com/prometheus/common/version.Version',
  tags: 'slicelabels',
}

export const m3: GoProgram = {
  module: 'github.com/m3db/m3',
  version: 'v1.5.0',
  package: './src/cmd/services/m3dbnode/main',
  name: 'm3dbnode',
  release: '1.5.0',
  linkerFlags: '-checklinkname=0',
}

/** Its module has no release tags: a commit of its main branch, which calls itself 3.0.5. */
export const mimir: GoProgram = {
  module: 'github.com/grafana/mimir',
  version: 'v1.3.1-0.20260423142704-aced80d74930',
  package: './cmd/mimir',
  release: '3.0.5',
  releaseVariable: 'github.com/grafana/mimir/pkg/util/version.Version',
  tags: 'netgo,stringlabels',
}

export const cortex: GoProgram = {
  module: 'github.com/cortexproject/cortex',
  version: 'v1.20.1',
  package: './cmd/cortex',
  release: '1.20.1',
  releaseVariable: 'main.Version',
  tags: 'netgo,slicelabels',
}

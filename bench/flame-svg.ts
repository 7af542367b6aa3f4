/** A CPU profile of V8 as a flame graph: time upwards from the event loop, width is time, equal frames merged. */

export interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: readonly number[]
}

interface Frame {
  readonly name: string
  time: number
  readonly children: Map<string, Frame>
}

const [width, rowHeight, smallest] = [1200, 16, 4]
const leftOut = new Set(['(root)', '(idle)'])

export function flameOf(profile: Profile, title: string): string {
  const root = treeOf(profile)
  const rows: string[] = []
  const depth = draw(root, { x: 0, level: 0, scale: width / root.time }, rows)
  const height = (depth + 3) * rowHeight
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="10">
<title>${escaped(title)}</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="4" y="12" font-size="12">${escaped(title)}</text>
<g transform="translate(0 ${height - rowHeight}) scale(1 1)">
${rows.join('\n')}
</g>
</svg>
`
}

function treeOf({ nodes, samples, timeDeltas }: Profile): Frame {
  const spent = new Map<number, number>()
  for (const [i, id] of samples.entries()) spent.set(id, (spent.get(id) ?? 0) + timeDeltas[i]!)
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const root: Frame = { name: 'all', time: 0, children: new Map() }
  const add = (node: ProfileNode, parent: Frame): number => {
    const name = nameOf(node)
    if (name === '(idle)') return 0
    const isShown = !leftOut.has(name)
    const frame = isShown ? childOf(parent, name) : parent
    let time = spent.get(node.id) ?? 0
    for (const child of node.children ?? []) time += add(byId.get(child)!, frame)
    if (isShown) frame.time += time
    return time
  }
  root.time = add(nodes[0]!, root)
  return root
}

function childOf(parent: Frame, name: string): Frame {
  const known = parent.children.get(name)
  if (known !== undefined) return known
  const frame: Frame = { name, time: 0, children: new Map() }
  parent.children.set(name, frame)
  return frame
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const file = url.split('/').at(-1)!
  const name = functionName === '' ? '(anonymous)' : functionName
  return file === '' ? name : `${name} ${file}:${lineNumber + 1}`
}

interface FramePosition {
  readonly x: number
  readonly level: number
  readonly scale: number
}

/** Returns how many rows the frame and its children take. */
function draw(frame: Frame, { x, level, scale }: FramePosition, rows: string[]): number {
  const own = frame.time * scale
  const y = -level * rowHeight
  const label = own > 30 ? escaped(frame.name.slice(0, Math.floor(own / 6.2))) : ''
  rows.push(
    `<g><title>${escaped(frame.name)} (${((100 * own) / width).toFixed(1)} %)</title><rect x="${x.toFixed(1)}" y="${y}" width="${own.toFixed(1)}" height="${rowHeight - 1}" fill="${colourOf(frame.name)}"/><text x="${(x + 2).toFixed(1)}" y="${y + 11}">${label}</text></g>`,
  )
  let depth = 0
  let at = x
  for (const child of [...frame.children.values()].toSorted((a, b) => b.time - a.time)) {
    if (child.time * scale < smallest) continue
    depth = Math.max(depth, draw(child, { x: at, level: level + 1, scale }, rows))
    at += child.time * scale
  }
  return depth + 1
}

/** Our own code in blue, Node's in yellow, the engine's and the kernel's in grey. */
function colourOf(name: string): string {
  if (/\.ts:\d+$/.test(name)) return '#8ab6e8'
  return / \S+:\d+$/.test(name) ? '#f2d27a' : '#c9c9c9'
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

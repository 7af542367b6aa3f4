/**
 * SQL statements whose answers are cached as a whole: a SELECT of groups, of distinct values or of totals. Raw rows
 * come in no certain order, and are excluded. A statement over one table is parsed in full; of every other one
 * (subqueries, joins, WITH) only the words are checked, so that its data sources are unknown.
 */
import { type Bypass, notDecomposable, unparseable } from './reasons.ts'
import { Cursor } from './sql-cursor.ts'
import { clockWords, maxDepth, unsafeFunctions, userWords } from './sql-expression.ts'
import { type Opening, readClauses, readOpening, type Statement } from './sql-statement.ts'
import { isSymbol, type Token, wordSet } from './sql-tokens.ts'

export interface WholeStatement extends Opening {
  /** It lists values, and computes nothing from them. */
  readonly isDistinct: boolean
  /** Its result depends on the time of the query, or on more than the data. */
  readonly isOutsideData: boolean
  /** Where it is one SELECT over one table. */
  readonly plain: Statement | undefined
}

/** Words by which rows are left as they are, taken at random, or taken from elsewhere. */
const refusedWords = wordSet(
  'OVER WINDOW QUALIFY TABLE VALUES TABLESAMPLE MATCH_RECOGNIZE PIVOT UNPIVOT INSERT REPLACE UPDATE DELETE MERGE',
)
/** Words with which a statement reads more than one table, or one table more than once. */
const nestingWords = wordSet('SELECT WITH JOIN LATERAL UNNEST UNION INTERSECT EXCEPT MINUS EXISTS')
/** Behind one of these there is another SELECT, which may be of rows. */
const setWords = wordSet('UNION INTERSECT EXCEPT MINUS')
const aggregates = wordSet(
  'COUNT SUM MIN MAX AVG EARLIEST EARLIEST_BY LATEST LATEST_BY ANY_VALUE STDDEV STDDEV_POP STDDEV_SAMP VARIANCE VAR_POP ' +
    'VAR_SAMP BLOOM_FILTER GROUPING ARRAY_AGG ARRAY_CONCAT_AGG STRING_AGG LISTAGG BIT_AND BIT_OR BIT_XOR TDIGEST_QUANTILE ' +
    'TDIGEST_GENERATE_SKETCH APPROX_QUANTILE APPROX_QUANTILE_DS APPROX_QUANTILE_FIXED_BUCKETS APPROX_COUNT_DISTINCT ' +
    'APPROX_COUNT_DISTINCT_BUILTIN APPROX_COUNT_DISTINCT_DS_HLL APPROX_COUNT_DISTINCT_DS_THETA DS_HLL DS_THETA ' +
    'DS_QUANTILES_SKETCH DS_TUPLE_DOUBLES',
)
/** Schemas whose tables describe the cluster: they change without any change of the data. */
const systemSchemas = wordSet('SYS INFORMATION_SCHEMA')

export function readWholeStatement(text: string): WholeStatement | Bypass {
  const opening = readOpening(text)
  if ('bypass' in opening) return opening
  const { tokens, select } = opening
  const first = tokens[select]!.keyword
  if (first !== 'SELECT' && first !== 'WITH')
    return { bypass: 'other_query_type', detail: 'SQL that is no SELECT' }
  const refusal = refuseTokens(tokens, select)
  if (refusal !== undefined) return refusal
  const outline = outlineOf(tokens, select)
  if ('bypass' in outline) return outline
  return {
    ...opening,
    isDistinct: outline.isDistinct,
    isOutsideData: tokens
      .slice(select)
      .some(({ keyword }) => clockWords.has(keyword) || keyword === 'LOOKUP'),
    plain: outline.isNested ? undefined : readPlain(opening),
  }
}

function refuseTokens(tokens: readonly Token[], from: number): Bypass | undefined {
  let depth = 0
  for (let i = from; i < tokens.length - 1; i++) {
    const { kind, text } = tokens[i]!
    const next = tokens[i + 1]!
    if (kind === 'symbol') {
      depth += text === '(' ? 1 : text === ')' ? -1 : 0
      if (depth > maxDepth || depth < 0)
        return unparseable('brackets that are nested too deeply, or not closed')
      if (text === ';' && next.kind !== 'end') return unparseable('several statements')
    }
    if (kind === 'name' && isSymbol(next, '(')) return unparseable('a call by a quoted name')
    const refused = refusedWord(tokens[i]!, next)
    if (refused !== undefined) return { bypass: 'unsafe_function', detail: refused }
  }
  return depth === 0 ? undefined : unparseable('a bracket that is not closed')
}

function refusedWord({ kind, text, keyword }: Token, next: Token): string | undefined {
  const isName = kind === 'word' || kind === 'name'
  if (isName && isSymbol(next, '.') && systemSchemas.has(text.toUpperCase())) return `a table of ${text}`
  const isRefused =
    refusedWords.has(keyword) ||
    userWords.has(keyword) ||
    (unsafeFunctions.has(keyword) && isSymbol(next, '('))
  return isRefused ? keyword : undefined
}

interface Outline {
  readonly isDistinct: boolean
  readonly isNested: boolean
}

/** The result of the outermost SELECT; refused where that is raw rows. */
function outlineOf(tokens: readonly Token[], from: number): Outline | Bypass {
  const outer = outermost(tokens, from)
  const is = (at: number, keyword: string): boolean => tokens[at]?.keyword === keyword
  const set = outer.find((at) => setWords.has(tokens[at]!.keyword))
  if (set !== undefined) return notDecomposable(tokens[set]!.keyword)
  const select = outer.find((at) => is(at, 'SELECT')) ?? from
  // IS DISTINCT FROM compares two columns.
  const end = outer.find((at) => at > select && is(at, 'FROM') && !is(at - 1, 'DISTINCT'))
  const list = tokens.slice(select + 1, end)
  if (list.some(({ keyword }) => keyword === 'SELECT')) return notDecomposable('a subquery among the columns')
  const isDistinct = is(select + 1, 'DISTINCT')
  const isGrouped = outer.some((at) => is(at, 'GROUP') && is(at + 1, 'BY'))
  const isTotal = list.some(({ keyword }, i) => aggregates.has(keyword) && isSymbol(list[i + 1], '('))
  if (!isDistinct && !isGrouped && !isTotal)
    return notDecomposable('rows as they are stored, in no certain order')
  return {
    // A call may be an aggregate of an extension.
    isDistinct: (isDistinct && !isTotal) || !list.some((token) => isSymbol(token, '(')),
    isNested: is(from, 'WITH') || tokens.slice(from + 1).some(({ keyword }) => nestingWords.has(keyword)),
  }
}

/** Where the tokens stand that are in no brackets. */
function outermost(tokens: readonly Token[], from: number): readonly number[] {
  const found: number[] = []
  let depth = 0
  for (let i = from; i < tokens.length; i++) {
    if (isSymbol(tokens[i], '(')) depth++
    else if (isSymbol(tokens[i], ')')) depth--
    else if (depth === 0) found.push(i)
  }
  return found
}

/** Undefined for statements of another form: then their data sources are unknown. */
function readPlain(opening: Opening): Statement | undefined {
  const { tokens, select } = opening
  const cursor = new Cursor(tokens, select, tokens.length - 1)
  cursor.expectWord('SELECT')
  cursor.takeWord('DISTINCT')
  const clauses = readClauses(cursor)
  skipLimit(cursor)
  cursor.takeSymbol(';')
  const isRead = cursor.problem === undefined && cursor.isAtEnd
  return isRead ? { ...opening, ...clauses, limit: undefined } : undefined
}

const limitWords = wordSet('LIMIT OFFSET FETCH FIRST NEXT ROW ROWS ONLY')

function skipLimit(cursor: Cursor): void {
  while (limitWords.has(cursor.token.keyword) || cursor.token.kind === 'number' || cursor.isSymbol('?'))
    cursor.at++
}

/** The key of `backends.<name>` for assumptions about a server: each database has assumptions of its own. */
import { nested, type Section } from '../../config/definition.ts'

export const assumptions = <T>(own: Section<T>) => ({
  assume: nested(
    own,
    'assumptions about the server; `Cache-Status` names them on responses that depend on them',
    { apply: 'reopen' },
  ),
})

/** Where Druid answers queries; both paths also with a slash behind them. */

export const nativePath = '/druid/v2'
export const sqlPath = '/druid/v2/sql'

// A step through all records by SCAN, on one master after the other.
import type { RecordView } from '../../model/record.ts'
import type { ListRequest, RecordsPage } from '../store.ts'
import type { RedisConnection } from './connect.ts'
import { fingerprintOfRecord, RECORD_PATTERN } from './keys.ts'

/** `<which master>:<the server's own cursor>`. */
const CURSOR = /^(\d{1,4}):(\d{1,20})$/

/**
 * A claim whose record was evicted is in no listing, and where the masters change meanwhile it may miss some.
 * `read` gives one record, or undefined where it has gone meanwhile.
 */
export async function listRecords(
  masters: readonly RedisConnection[],
  { cursor, limit }: ListRequest,
  read: (fingerprint: string) => Promise<RecordView | undefined>,
): Promise<RecordsPage> {
  const [, master = '0', from = '0'] = CURSOR.exec(cursor ?? '') ?? []
  const at = Number(master)
  const connection = masters[at]
  if (connection === undefined) return { records: [], cursor: undefined }
  const [next, keys] = await connection.run('list', (client) => client.scan(from, 'MATCH', RECORD_PATTERN, 'COUNT', limit))
  const names = keys.map(fingerprintOfRecord).filter((name) => name !== undefined)
  const found = await Promise.all(names.map(read))
  return { records: found.filter((record) => record !== undefined), cursor: after(at, next, masters.length) }
}

function after(master: number, next: string, masters: number): string | undefined {
  if (next !== '0') return `${master}:${next}`
  return master + 1 < masters ? `${master + 1}:0` : undefined
}

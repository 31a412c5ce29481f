// A record as pages and programs are told of it: how it stands, and nothing of its content.
import type { RecordView } from './record.ts'

/** Members without a value are absent in JSON. Times are RFC 3339. */
export function recordDocument(record: RecordView) {
  const { response } = record
  return {
    fingerprint: record.fingerprint,
    rule: record.rule,
    status: record.status,
    attempt: record.attempt,
    execution: record.executionId,
    duplicates: record.duplicates,
    created_at: rfc3339(record.createdAt),
    last_updated_at: rfc3339(record.updatedAt),
    expires_at: record.expiresAt === undefined ? undefined : rfc3339(record.expiresAt),
    http_status: response?.status,
    result_hash: response === undefined ? undefined : `sha256:${response.bodyHash}`,
  }
}

export function rfc3339(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

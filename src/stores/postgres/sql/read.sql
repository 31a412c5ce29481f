-- read: one record and the clock, without side effect.
--
-- Parameters  1 fingerprint  2 whether the body is wanted, too
-- Returns     one row: read_at, read_only, the record's columns, body; the fingerprint is null where there is no record
--
-- Closes the race between the row and the clock: it is that of the statement's begin, so that a record which is settled
-- meanwhile never looks lapsed. `read_only` tells of a server that is no longer the primary, whose rows may be old.
SELECT
  greatest((extract(epoch FROM statement_timestamp()) * 1000)::bigint, r.updated_at) AS read_at,
  current_setting('transaction_read_only') = 'on' AS read_only,
  RECORD_COLUMNS,
  CASE WHEN $2::boolean THEN r.body END AS body
FROM (SELECT) AS one LEFT JOIN oncegate_record AS r ON r.fingerprint = $1

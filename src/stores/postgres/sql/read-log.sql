-- read-log: bytes of an execution's answer from an offset on, while it comes or after it was stored; without side effect.
--
-- Parameters  1 fingerprint  2 execution  3 offset  4 at most so many bytes
-- Returns     one row as read.sql does, with the bytes; null where there are none
--
-- Closes the race between reading the record and reading its pieces: both are of one snapshot.
SELECT
  greatest((extract(epoch FROM statement_timestamp()) * 1000)::bigint, r.updated_at) AS read_at,
  current_setting('transaction_read_only') = 'on' AS read_only,
  RECORD_COLUMNS,
  CASE
    WHEN r.execution <> $2 THEN NULL
    WHEN r.log IS NULL THEN substring(r.body FROM $3::integer + 1 FOR $4::integer)
    ELSE (
      -- The last piece that begins no later than the offset holds it.
      SELECT substring(string_agg(p.bytes, ''::bytea ORDER BY p.position) FROM ($3::integer - min(p.position) + 1)::integer FOR $4::integer)
      FROM oncegate_piece AS p
      WHERE p.log = r.log AND p.position < $3::bigint + $4::bigint AND p.position >= (
        SELECT max(f.position) FROM oncegate_piece AS f WHERE f.log = r.log AND f.position <= $3::bigint
      )
    )
  END AS bytes
FROM (SELECT) AS one LEFT JOIN oncegate_record AS r ON r.fingerprint = $1

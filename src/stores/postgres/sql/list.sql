-- list: a step through all records, in the order of their names.
--
-- Parameters  1 the name after which it begins; '': at the first  2 at most so many
-- Returns     rows as read's; one with a null fingerprint where there is no record
--
-- A name is never looked at twice in one listing, however the table changes. As with read, a server that is no longer the
-- primary tells of itself.
SELECT
  greatest((extract(epoch FROM statement_timestamp()) * 1000)::bigint, r.updated_at) AS read_at,
  current_setting('transaction_read_only') = 'on' AS read_only,
  RECORD_COLUMNS
FROM (SELECT) AS one LEFT JOIN LATERAL (
  SELECT * FROM oncegate_record WHERE fingerprint > $1 ORDER BY fingerprint LIMIT $2
) AS r ON true
ORDER BY r.fingerprint

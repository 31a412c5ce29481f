-- remove: takes one record away, and hands the pieces of its answer to the sweep.
--
-- Parameters  1 fingerprint  2 the execution that it was seen with
-- Returns     one row, or none where nothing was removed
--
-- Closes the race between looking and removing: the row is compared once more when it is held, so that an execution that was
-- granted or has answered in between keeps its record, and so does one that waits for its group.
WITH gone AS (
  DELETE FROM oncegate_record
  WHERE fingerprint = $1 AND execution = $2 AND (status <> 'processing' OR lease_until <= oncegate_now())
    AND wait_until <= oncegate_now()
    AND (expires_at IS NULL OR expires_at > oncegate_now() OR tombstone_until > oncegate_now())
  RETURNING fingerprint, log
), dropped AS (
  INSERT INTO oncegate_dropped_log SELECT log FROM gone WHERE log IS NOT NULL
)
SELECT fingerprint FROM gone

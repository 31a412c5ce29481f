-- sweep: removes a batch of records whose time is over.
--
-- Parameters  1 at most so many
-- Returns     one row (looked): how many were looked at; fewer than asked for: there are no more for now
--
-- Closes the race between looking and removing: what another holds is left for later, and a record that was renewed or
-- granted anew since the look is compared again before it goes. One whose lease lives never goes, and one that still refuses
-- loses only its body.
WITH due AS (
  SELECT fingerprint FROM oncegate_record WHERE sweep_at <= oncegate_now() ORDER BY sweep_at LIMIT $1
  FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM oncegate_record AS r
  WHERE r.fingerprint = ANY (ARRAY(SELECT fingerprint FROM due)) AND r.expires_at <= oncegate_now()
    AND r.tombstone_until <= oncegate_now() AND r.wait_until <= oncegate_now()
    AND (r.status <> 'processing' OR r.lease_until <= oncegate_now())
  RETURNING r.fingerprint, r.log
), later AS (
  UPDATE oncegate_record AS r SET sweep_at = r.expires_at
  WHERE r.fingerprint = ANY (ARRAY(SELECT fingerprint FROM due)) AND NOT coalesce(r.expires_at <= oncegate_now(), false)
), buried AS (
  UPDATE oncegate_record AS r SET sweep_at = r.tombstone_until, body = NULL, body_stored = false, log = NULL
  FROM (SELECT fingerprint, log FROM oncegate_record WHERE fingerprint = ANY (ARRAY(SELECT fingerprint FROM due))) AS was
  WHERE r.fingerprint = was.fingerprint AND r.expires_at <= oncegate_now() AND r.tombstone_until > oncegate_now()
  RETURNING was.log
), dropped AS (
  INSERT INTO oncegate_dropped_log SELECT log FROM gone WHERE log IS NOT NULL UNION ALL SELECT log FROM buried WHERE log IS NOT NULL
)
SELECT count(*)::integer AS looked FROM due

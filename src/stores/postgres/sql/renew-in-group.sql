-- renew-in-group: gives a living lease its full length again, and the execution's group with it.
--
-- Parameters  _group: the group of the fingerprint   _ttl_ms: null keeps for ever
-- Returns     one row (cancelled), or none where the execution has lost its turn
--
-- Closes the race between comparing and extending: whoever takes the group meanwhile, since it has lapsed, waits until this is
-- done or has done so before. A function, since the clock is to be read once the group is this one's to look at.
CREATE FUNCTION oncegate_renew_in_group(_fingerprint text, _execution text, _lease_ms bigint, _ttl_ms bigint, _group text)
RETURNS TABLE (cancelled boolean) LANGUAGE plpgsql AS $$
DECLARE
  _until bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('oncegate group ' || _group, 0));
  _until := oncegate_now() + _lease_ms;
  UPDATE oncegate_group AS g SET until = _until WHERE g.name = _group AND g.holder = _execution AND g.until > oncegate_now();
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY UPDATE oncegate_record AS r SET
    lease_until = _until,
    expires_at = _until + _ttl_ms,
    sweep_at = CASE WHEN r.sweep_at <= _until + _ttl_ms + 600000 THEN r.sweep_at ELSE _until + _ttl_ms END
  WHERE r.fingerprint = _fingerprint AND r.execution = _execution AND r.status = 'processing' AND r.lease_until > oncegate_now()
  RETURNING r.cancelled;
END $$;

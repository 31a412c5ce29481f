-- settle: writes how an execution ended and frees its lease.
--
-- Parameters  _to: 'completed' | 'failed' | 'unknown'   _ttl_ms: null keeps for ever
--             _head: of the answer, null where there is none   _body: its bytes, or what comes after the log; null: not kept
--             _logged: how many bytes are in the log   _inline_bytes: bodies over this are kept as pieces
--             _tombstone_ms: for how long after its end a completed record still refuses, or null
--             _group: of a fact that excludes others, else null
-- Returns     one row (word, wakes): 'ok' | 'stale', and the fingerprint whose turn it is now in the group, or null
--
-- Closes the race between comparing and writing: an execution that lost its turn cannot overwrite a later one. A lapsed
-- lease alone is no bar: nobody else was granted, so the late answer is the answer. A function, since the pieces have to be
-- read as they are once the row is held: an append that was sent twice may have come in between.
-- An execution that waits for its group gives up its place.
CREATE FUNCTION oncegate_settle(
  _fingerprint text, _execution text, _to text, _ttl_ms bigint, _keep_ms bigint, _head text, _body bytea, _logged bigint,
  _inline_bytes integer, _group text, _tombstone_ms bigint, OUT word text, OUT wakes text
) LANGUAGE plpgsql AS $$
DECLARE
  _record oncegate_record;
  _now bigint;
  _expires bigint;
  _kept boolean := _body IS NOT NULL;
  _log bigint;
BEGIN
  word := 'stale';
  IF _group IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('oncegate group ' || _group, 0));
  END IF;
  SELECT * INTO _record FROM oncegate_record WHERE fingerprint = _fingerprint FOR UPDATE;
  _now := oncegate_now();
  IF _record.fingerprint IS NULL THEN RETURN; END IF;

  -- One that was granted, lost its group and has never begun has an end of its own.
  IF _record.waiter = _execution AND _to = 'failed' AND NOT (_record.status = 'processing' AND _record.execution = _execution) THEN
    DELETE FROM oncegate_waiter WHERE execution = _execution;
    IF _record.status = 'pending' THEN
      DELETE FROM oncegate_record WHERE fingerprint = _fingerprint;
    ELSE
      UPDATE oncegate_record SET waiter = NULL, wait_until = 0 WHERE fingerprint = _fingerprint;
    END IF;
    word := 'ok';
    SELECT w.fingerprint INTO wakes FROM oncegate_waiter AS w
    WHERE w.name = _group AND w.until > _now AND NOT EXISTS (SELECT FROM oncegate_group AS g WHERE g.name = _group AND g.until > _now)
    ORDER BY w.place LIMIT 1;
    RETURN;
  END IF;

  IF _record.execution <> _execution OR _record.expires_at <= _now THEN RETURN; END IF;
  IF _record.status = _to THEN word := 'ok'; RETURN; END IF;
  IF _record.status IN ('completed', 'failed', 'pending') THEN RETURN; END IF;
  IF _record.waiter IS NOT NULL AND (_to = 'completed' OR _record.waiter = _execution) THEN
    -- A result is the answer to whoever waits as well.
    DELETE FROM oncegate_waiter WHERE execution = _record.waiter;
    _record.waiter := NULL;
    _record.wait_until := 0;
  END IF;

  -- Null where the ttl is. The record outlives its settling whatever the ttl.
  _expires := CASE WHEN _ttl_ms IS NOT NULL THEN
    greatest((CASE WHEN _to = 'unknown' THEN _now ELSE _record.created_at END) + _ttl_ms, _now + _keep_ms, _record.wait_until) END;

  -- A log that lost a piece is no body.
  IF _logged > 0 AND (_record.log_head IS NULL OR _record.log_dropped OR _record.log_bytes <> _logged) THEN
    _kept := false;
  END IF;
  IF _kept AND _logged + length(_body) > _inline_bytes THEN
    _log := CASE WHEN _logged > 0 THEN _record.log ELSE nextval('oncegate_log') END;
    INSERT INTO oncegate_piece (log, position, bytes)
    SELECT _log, _logged + at, substring(_body FROM at + 1 FOR 65536) FROM generate_series(0, length(_body) - 1, 65536) AS at;
    _body := NULL;
  ELSIF _kept AND _logged > 0 THEN
    _body := (SELECT string_agg(bytes, ''::bytea ORDER BY position) FROM oncegate_piece WHERE log = _record.log) || _body;
  END IF;
  IF _record.log IS DISTINCT FROM _log AND _record.log IS NOT NULL THEN
    INSERT INTO oncegate_dropped_log VALUES (_record.log);
  END IF;

  UPDATE oncegate_record SET
    status = _to, updated_at = _now, lease_until = 0, expires_at = _expires,
    sweep_at = CASE WHEN sweep_at <= _expires + 600000 THEN sweep_at ELSE _expires END,
    head = _head, body_stored = _kept, body = CASE WHEN _kept THEN _body END,
    log = _log, log_head = NULL, log_bytes = 0, log_dropped = false, waiter = _record.waiter, wait_until = _record.wait_until,
    tombstone_until = CASE WHEN _to = 'completed' THEN coalesce(_expires + _tombstone_ms, 0) ELSE 0 END
  WHERE fingerprint = _fingerprint;
  word := 'ok';
  IF _group IS NOT NULL THEN
    -- Of an unknown end nobody knows whether the upstream is still at it: what is left of the lease is its time to end.
    IF _to <> 'unknown' THEN
      DELETE FROM oncegate_group WHERE name = _group AND holder = _execution;
    END IF;
    SELECT w.fingerprint INTO wakes FROM oncegate_waiter AS w
    WHERE w.name = _group AND w.until > _now AND NOT EXISTS (SELECT FROM oncegate_group AS g WHERE g.name = _group AND g.until > _now)
    ORDER BY w.place LIMIT 1;
  END IF;
END $$;

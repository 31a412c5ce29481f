-- settle: writes how an execution ended and frees its lease.
--
-- Parameters  _to: 'completed' | 'failed' | 'unknown'   _ttl_ms: null keeps for ever
--             _head: of the answer, null where there is none   _body: its bytes, or what comes after the log; null: not kept
--             _logged: how many bytes are in the log   _inline_bytes: bodies over this are kept as pieces
-- Returns     'ok' | 'stale'
--
-- Closes the race between comparing and writing: an execution that lost its turn cannot overwrite a later one. A lapsed
-- lease alone is no bar: nobody else was granted, so the late answer is the answer. A function, since the pieces have to be
-- read as they are once the row is held: an append that was sent twice may have come in between.
CREATE FUNCTION oncegate_settle(
  _fingerprint text, _execution text, _to text, _ttl_ms bigint, _keep_ms bigint, _head text, _body bytea, _logged bigint,
  _inline_bytes integer
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  _record oncegate_record;
  _now bigint;
  _expires bigint;
  _kept boolean := _body IS NOT NULL;
  _log bigint;
BEGIN
  SELECT * INTO _record FROM oncegate_record WHERE fingerprint = _fingerprint FOR UPDATE;
  _now := oncegate_now();
  IF _record.fingerprint IS NULL OR _record.expires_at <= _now OR _record.execution <> _execution THEN RETURN 'stale'; END IF;
  IF _record.status = _to THEN RETURN 'ok'; END IF;
  IF _record.status IN ('completed', 'failed') THEN RETURN 'stale'; END IF;

  -- Null where the ttl is. The record outlives its settling whatever the ttl.
  _expires := CASE WHEN _ttl_ms IS NOT NULL THEN
    greatest((CASE WHEN _to = 'unknown' THEN _now ELSE _record.created_at END) + _ttl_ms, _now + _keep_ms) END;

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
    log = _log, log_head = NULL, log_bytes = 0, log_dropped = false
  WHERE fingerprint = _fingerprint;
  RETURN 'ok';
END $$;

-- append: adds a piece to the log of a running execution's answer.
--
-- Parameters  _offset: how many bytes came before   _head: of the answer, with the first piece, else null
--             _overflow: the answer is over its limit, and its log is dropped
-- Returns     'ok' | 'stale'
--
-- Closes the race between looking at the log's length and adding to it: a piece sent twice is there once, and none is added
-- after a gap or after a later execution was granted. A function, since the look decides whether anything is written at all.
CREATE FUNCTION oncegate_append(
  _fingerprint text, _execution text, _offset bigint, _chunk bytea, _head text, _overflow boolean
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  _record record;
BEGIN
  SELECT execution, status, expires_at, log, log_head, log_bytes, log_dropped INTO _record
  FROM oncegate_record WHERE fingerprint = _fingerprint FOR UPDATE;
  IF NOT FOUND OR _record.expires_at <= oncegate_now() OR _record.execution <> _execution OR _record.status <> 'processing' THEN
    RETURN 'stale';
  END IF;
  IF _record.log_dropped OR coalesce(_record.log_head, _head) IS NULL THEN
    RETURN CASE WHEN _overflow AND _record.log_dropped THEN 'ok' ELSE 'stale' END;
  END IF;

  IF _overflow THEN
    IF _record.log IS NOT NULL THEN
      INSERT INTO oncegate_dropped_log VALUES (_record.log);
    END IF;
    UPDATE oncegate_record SET log = NULL, log_head = coalesce(log_head, _head), log_dropped = true
    WHERE fingerprint = _fingerprint;
    RETURN 'ok';
  END IF;

  -- Sent twice: the answer to the first was lost.
  IF _record.log_head IS NOT NULL AND _record.log_bytes >= _offset + length(_chunk) THEN RETURN 'ok'; END IF;
  IF _record.log_bytes <> _offset THEN RETURN 'stale'; END IF;
  UPDATE oncegate_record SET
    log = coalesce(log, nextval('oncegate_log')), log_head = coalesce(log_head, _head), log_bytes = log_bytes + length(_chunk)
  WHERE fingerprint = _fingerprint
  RETURNING log INTO _record.log;
  INSERT INTO oncegate_piece (log, position, bytes)
  SELECT _record.log, _offset + at, substring(_chunk FROM at + 1 FOR 65536) FROM generate_series(0, length(_chunk) - 1, 65536) AS at;
  RETURN 'ok';
END $$;

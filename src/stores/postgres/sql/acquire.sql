-- acquire: takes the right to execute, or says who has it and what came of it.
--
-- Parameters  _names: the fingerprint, then further names that the fact may be kept under   _digests: for each of them,
--             with | between, those that a record may have, the first being what a new one keeps
--             _ttl_ms: null keeps for ever
--             _group, _when_busy: 'refuse' | 'wait', _place_ms: of a fact that excludes others, else null
--             _unique: further names that belong to one fact alone, or null; kept for _keep_ms, _most of each record
--             _on_failed: 'retry' | 'replay'   _on_unknown: 'refuse' | 'retry'   _on_completed: 'replay' | 'execute'
-- Returns     kind: 'acquired' | 'in_flight' | 'completed' | 'failed' | 'unknown' | 'key_reused' | 'expired' |
--             'busy' | 'pending' | 'name_used';
--             read_at: the clock; held: for how long another fact has held the group;
--             places: of the further names that belong to another fact, from 1; record: the one it was decided on, its body only where it is to be replayed
--
-- Closes the race between looking and taking: the primary key lets one of several first ones in, and whoever finds a record
-- holds its row until the end. A function, since a single statement sees what was there when it began: one that has waited
-- for another's row or lock would decide on the past. Of a group one verb at a time is at work. The clock is read after each wait, for the same reason.
CREATE FUNCTION oncegate_acquire(
  _names text[], _execution text, _digests text[], _rule text, _owner text, _digest_fields text, _lease_ms bigint, _ttl_ms bigint,
  _on_failed text, _on_unknown text, _on_completed text, _group text, _when_busy text, _place_ms bigint,
  _unique text[], _keep_ms bigint, _most integer, OUT kind text, OUT read_at bigint, OUT held bigint, OUT places integer[], OUT record oncegate_record
) LANGUAGE plpgsql AS $$
DECLARE
  _n int;
  _one oncegate_record;
  _state text;     -- status of one by the clock
  _word text;      -- why one refuses, or null
  _follows text;   -- state of the chosen one; null while nothing lives
  _inserts boolean := cardinality(_names) = 1;
  _expires bigint;
  _holder text;    -- of the group, and since when
  _since bigint;
  _first text;     -- in the line before it
BEGIN
  IF _group IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('oncegate group ' || _group, 0));
    read_at := oncegate_now();
    SELECT g.holder, g.since INTO _holder, _since FROM oncegate_group AS g WHERE g.name = _group AND g.until > read_at;
    SELECT w.execution INTO _first FROM oncegate_waiter AS w
    WHERE w.name = _group AND (w.until > read_at OR w.execution = _execution) ORDER BY w.place LIMIT 1;
    IF _holder IS NOT NULL THEN
      held := CASE WHEN _holder <> _execution THEN read_at - _since END;
    ELSE
      held := CASE WHEN _first <> _execution THEN 0 END;
    END IF;
  END IF;

  -- Two requests that look for each other's name find one another here, also where neither has a row yet.
  IF cardinality(_names) > 1 THEN
    PERFORM pg_advisory_xact_lock(key)
    FROM (SELECT DISTINCT hashtextextended('oncegate ' || name, 0) AS key FROM unnest(_names) AS name ORDER BY key) AS keys;
  END IF;

  IF _unique IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(key)
    FROM (SELECT DISTINCT hashtextextended('oncegate name ' || name, 0) AS key FROM unnest(_unique) AS name ORDER BY key) AS keys;
    SELECT array_agg(u.place ORDER BY u.place) INTO places
    FROM unnest(_unique) WITH ORDINALITY AS u (name, place)
    JOIN oncegate_name AS n ON n.name = u.name AND n.fingerprint <> ALL (_names)
    JOIN oncegate_record AS r ON r.fingerprint = n.fingerprint AND u.name = ANY (r.names)
      AND (r.expires_at IS NULL OR r.expires_at > oncegate_now());
    IF places IS NOT NULL THEN
      kind := 'name_used';
      RETURN;
    END IF;
  END IF;

  <<decide>>
  LOOP
    IF _inserts AND held IS NULL THEN
      read_at := oncegate_now();
      _expires := read_at + _lease_ms + _ttl_ms;
      INSERT INTO oncegate_record AS r (fingerprint, execution, status, rule, owner, digest, digest_fields, created_at,
        started_at, updated_at, lease_until, expires_at, sweep_at)
      VALUES (_names[1], _execution, 'processing', _rule, _owner, split_part(_digests[1], '|', 1), _digest_fields, read_at,
        read_at, read_at, read_at + _lease_ms, _expires, _expires)
      ON CONFLICT (fingerprint) DO NOTHING
      RETURNING r.* INTO record;
      IF FOUND THEN
        kind := 'acquired';
        IF _group IS NOT NULL THEN
          INSERT INTO oncegate_group AS g VALUES (_group, _execution, read_at, read_at + _lease_ms)
          ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, since = excluded.since, until = excluded.until;
          DELETE FROM oncegate_waiter WHERE execution = _execution;
        END IF;
        EXIT decide;
      END IF;
    END IF;

    -- Its own claim before all, then whatever refuses, then what lives.
    kind := NULL;
    _follows := NULL;
    FOR _n IN 1 .. cardinality(_names) LOOP
      SELECT * INTO _one FROM oncegate_record AS r WHERE r.fingerprint = _names[_n] FOR UPDATE;
      read_at := oncegate_now();
      CONTINUE WHEN _one.fingerprint IS NULL
        OR (_one.expires_at <= read_at AND _one.tombstone_until <= read_at AND (_one.waiter IS NULL OR _one.wait_until <= read_at));
      _state := CASE WHEN _one.expires_at <= read_at THEN 'expired' WHEN _one.status = 'processing' AND _one.lease_until <= read_at THEN 'unknown' ELSE _one.status END;
      IF _one.status = 'processing' AND _one.execution = _execution THEN
        record := _one;
        kind := NULL;
        _follows := 'itself';
        EXIT;
      END IF;
      IF _one.waiter = _execution THEN
        record := _one;
        kind := NULL;
        _follows := CASE _one.status WHEN 'pending' THEN 'none' WHEN 'processing' THEN 'unknown' ELSE _one.status END;
        EXIT;
      END IF;
      _word := CASE
        WHEN position('|' || _one.digest || '|' IN '|' || _digests[_n] || '|') = 0 THEN 'key_reused'
        WHEN _one.execution = _execution AND _state = 'expired' THEN 'expired'
        -- A late copy: its execution has ended, and nobody waits for another claim.
        WHEN _one.execution = _execution THEN CASE WHEN _one.status = 'completed' THEN 'completed' ELSE 'unknown' END
        WHEN _one.wait_until > read_at AND _one.waiter IS NOT NULL THEN 'in_flight'
        WHEN _state = 'processing' THEN 'in_flight'
        WHEN _state = 'expired' AND _on_completed = 'replay' THEN 'expired'
        WHEN _state = 'completed' AND _on_completed = 'replay' THEN 'completed'
        WHEN _state = 'failed' AND _on_failed = 'replay' AND _one.head IS NOT NULL THEN 'failed'
        WHEN _state = 'unknown' AND _on_unknown = 'refuse' THEN 'unknown'
      END;
      IF _follows IS NULL OR (kind IS NULL AND _word IS NOT NULL) THEN
        record := _one;
        kind := _word;
        _follows := CASE _state WHEN 'expired' THEN 'completed' ELSE _state END;
      END IF;
    END LOOP;

    IF kind IS NOT NULL THEN
      -- A mismatch leaves no trace, and an execution is no duplicate of itself.
      IF kind <> 'key_reused' AND record.execution <> _execution THEN
        -- Only a count: nobody has to wait until it is on disk.
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE oncegate_record AS r SET duplicates = r.duplicates + 1 WHERE r.fingerprint = record.fingerprint
        RETURNING r.duplicates INTO record.duplicates;
      END IF;
      IF kind NOT IN ('completed', 'failed') THEN
        record.body := NULL;
      END IF;
      EXIT decide;
    END IF;

    -- An execution that nobody has heard of keeps its group, but not from a further attempt at its own fact.
    IF _follows IS NOT NULL AND _holder = record.execution THEN
      held := NULL;
    END IF;
    IF held IS NOT NULL AND _when_busy = 'refuse' THEN
      kind := 'busy';
      record := NULL;
      EXIT decide;
    END IF;

    IF held IS NOT NULL THEN
      kind := 'pending';
      read_at := oncegate_now();
      _expires := read_at + _place_ms;
      INSERT INTO oncegate_waiter AS w (execution, name, fingerprint, until)
      VALUES (_execution, _group, coalesce(record.fingerprint, _names[1]), _expires)
      ON CONFLICT (execution) DO UPDATE SET until = excluded.until;
      UPDATE oncegate_record AS r SET
        waiter = _execution, wait_until = _expires,
        -- One that is over does not come back to life.
        expires_at = CASE WHEN r.status = 'pending' THEN _expires WHEN r.expires_at > read_at THEN greatest(r.expires_at, _expires)
          ELSE r.expires_at END,
        sweep_at = CASE WHEN r.sweep_at <= _expires + 600000 THEN r.sweep_at ELSE greatest(r.expires_at, _expires) END
      WHERE r.fingerprint = record.fingerprint
      RETURNING r.* INTO record;
      IF FOUND THEN
        record.body := NULL;
        EXIT decide;
      END IF;
      WITH gone AS (
        DELETE FROM oncegate_record AS r WHERE r.fingerprint = _names[1] RETURNING r.log
      )
      INSERT INTO oncegate_dropped_log SELECT gone.log FROM gone WHERE gone.log IS NOT NULL;
      INSERT INTO oncegate_record AS r (fingerprint, execution, status, attempt, rule, owner, digest, digest_fields, created_at,
        started_at, updated_at, lease_until, expires_at, sweep_at, waiter, wait_until)
      VALUES (_names[1], _execution, 'pending', 0, _rule, _owner, split_part(_digests[1], '|', 1), _digest_fields, read_at,
        read_at, read_at, 0, _expires, _expires, _execution, _expires)
      RETURNING r.* INTO record;
      EXIT decide;
    END IF;

    IF _follows IS NOT NULL THEN
      kind := 'acquired';
      _expires := read_at + _lease_ms + _ttl_ms;
      IF record.log IS NOT NULL THEN
        INSERT INTO oncegate_dropped_log VALUES (record.log);
      END IF;
      IF _follows <> 'itself' THEN
        record.attempt := record.attempt + 1;
        record.after := _follows;
        record.duplicates := record.duplicates + CASE WHEN record.execution = _execution THEN 0 ELSE 1 END;
      END IF;
      IF _follows = 'completed' THEN
        -- A new generation: nothing of the earlier one stays but its count of attempts.
        record.rule := _rule;
        record.owner := _owner;
        record.digest_fields := _digest_fields;
        record.duplicates := 0;
        record.created_at := read_at;
      END IF;
      UPDATE oncegate_record AS r SET
        execution = _execution, status = 'processing', attempt = record.attempt, after = record.after, rule = record.rule,
        owner = record.owner, digest_fields = record.digest_fields, duplicates = record.duplicates,
        created_at = record.created_at, started_at = read_at, updated_at = read_at, names = CASE WHEN _follows = 'completed' THEN '{}' ELSE r.names END, lease_until = read_at + _lease_ms,
        expires_at = _expires,
        sweep_at = CASE WHEN r.sweep_at <= _expires + 600000 THEN r.sweep_at ELSE _expires END,
        cancelled = false, head = NULL, body_stored = false, body = NULL,
        log = NULL, log_head = NULL, log_bytes = 0, log_dropped = false, waiter = NULL, wait_until = 0,
        tombstone_until = 0
      WHERE r.fingerprint = record.fingerprint;
      IF _group IS NOT NULL THEN
        INSERT INTO oncegate_group AS g VALUES (_group, _execution, read_at, read_at + _lease_ms)
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, since = excluded.since, until = excluded.until;
        DELETE FROM oncegate_waiter WHERE execution = _execution;
      END IF;
      record.body := NULL;
      EXIT decide;
    END IF;

    -- Nothing lives. What has expired and was not swept yet makes room.
    WITH gone AS (
      DELETE FROM oncegate_record AS r WHERE r.fingerprint = _names[1] AND r.expires_at <= oncegate_now()
        AND r.tombstone_until <= oncegate_now() RETURNING r.log
    )
    INSERT INTO oncegate_dropped_log SELECT gone.log FROM gone WHERE gone.log IS NOT NULL;
    _inserts := true;
  END LOOP;

  IF _unique IS NOT NULL AND kind NOT IN ('key_reused', 'busy') THEN
    UPDATE oncegate_record AS r SET names = (r.names || ARRAY(SELECT name FROM unnest(_unique) AS name WHERE name <> ALL (r.names)))[1:_most]
    WHERE r.fingerprint = record.fingerprint
    RETURNING r.names INTO record.names;
    INSERT INTO oncegate_name AS n (name, fingerprint, until)
    SELECT DISTINCT name, record.fingerprint, read_at + _keep_ms FROM unnest(_unique) AS name WHERE name = ANY (record.names)
    ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, until = excluded.until;
  END IF;
END $$;

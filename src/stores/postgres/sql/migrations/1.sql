-- The tables. Times are milliseconds since the epoch by the server's clock; an end that is null never comes.

CREATE FUNCTION oncegate_now() RETURNS bigint LANGUAGE sql VOLATILE
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE TABLE oncegate_record (
  fingerprint text COLLATE "C" PRIMARY KEY,
  execution text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('processing', 'completed', 'failed', 'unknown')),
  attempt integer NOT NULL DEFAULT 1,
  -- What the latest execution followed.
  after text COLLATE "C" NOT NULL DEFAULT 'none',
  rule text NOT NULL,
  owner text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  digest_fields text COLLATE "C" NOT NULL,
  duplicates integer NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  started_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  lease_until bigint NOT NULL,
  expires_at bigint,
  -- When the sweep looks at the record. It seldom changes, so that most writes touch no index.
  sweep_at bigint,
  cancelled boolean NOT NULL DEFAULT false,
  -- The stored answer: its head as JSON, and its body where it is small.
  head text,
  body_stored boolean NOT NULL DEFAULT false,
  body bytea,
  -- The pieces that hold the answer that is coming, or a large body.
  log bigint,
  log_head text,
  log_bytes bigint NOT NULL DEFAULT 0,
  log_dropped boolean NOT NULL DEFAULT false
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX oncegate_record_sweep ON oncegate_record (sweep_at);

CREATE SEQUENCE oncegate_log;

CREATE TABLE oncegate_piece (
  log bigint NOT NULL,
  -- How many bytes come before it.
  position bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (log, position)
);

-- Logs that no record holds any more: their pieces are for the sweep.
CREATE TABLE oncegate_dropped_log (log bigint PRIMARY KEY);

CREATE TABLE oncegate_setting (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);

-- Answers are often compressed already, and a part of one is read without the whole.
ALTER TABLE oncegate_record ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE oncegate_piece ALTER COLUMN bytes SET STORAGE EXTERNAL;

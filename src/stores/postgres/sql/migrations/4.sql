-- Further names, each of which belongs to one fact alone.

ALTER TABLE oncegate_record ADD COLUMN names text[] NOT NULL DEFAULT '{}';

-- Whose a name may be; the record says whether it is.
CREATE TABLE oncegate_name (
  name text COLLATE "C" PRIMARY KEY,
  fingerprint text COLLATE "C" NOT NULL,
  -- By then no such record can live.
  until bigint NOT NULL
);
CREATE INDEX oncegate_name_until ON oncegate_name (until);

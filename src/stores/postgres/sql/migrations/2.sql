-- Groups of facts of which one is executed at a time, and the line before each.

ALTER TABLE oncegate_record
  -- Who waits for the record's group, over whatever the record is besides, and until when that one's place is kept.
  ADD COLUMN waiter text COLLATE "C",
  ADD COLUMN wait_until bigint NOT NULL DEFAULT 0,
  DROP CONSTRAINT oncegate_record_status_check,
  ADD CONSTRAINT oncegate_record_status_check CHECK (status IN ('pending', 'processing', 'completed', 'failed', 'unknown'));

-- A group that nobody holds has no row, or one whose time is over.
CREATE TABLE oncegate_group (
  name text COLLATE "C" PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  until bigint NOT NULL
);

CREATE TABLE oncegate_waiter (
  execution text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  -- The order in which they came.
  place bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  until bigint NOT NULL
);

CREATE INDEX oncegate_waiter_line ON oncegate_waiter (name, place);

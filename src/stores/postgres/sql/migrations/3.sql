-- Until when a completed record whose time is over still refuses.

ALTER TABLE oncegate_record ADD COLUMN tombstone_until bigint NOT NULL DEFAULT 0;

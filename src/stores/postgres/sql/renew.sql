-- renew: gives a living lease its full length again.
--
-- Parameters  1 fingerprint  2 execution  3 lease in ms  4 ttl in ms, null: for ever
-- Returns     one row (cancelled), or none where the execution has lost its turn
--
-- Closes the race between comparing and extending. The clock is read where the row is compared, also when that waited for
-- another's lock: nobody is told `unknown` of a lease that is renewed after all.
UPDATE oncegate_record SET
  lease_until = oncegate_now() + $3::bigint,
  expires_at = oncegate_now() + $3::bigint + $4::bigint,
  sweep_at = CASE WHEN sweep_at <= oncegate_now() + $3::bigint + $4::bigint + 600000 THEN sweep_at
    ELSE oncegate_now() + $3::bigint + $4::bigint END
WHERE fingerprint = $1 AND execution = $2 AND status = 'processing' AND lease_until > oncegate_now()
RETURNING cancelled

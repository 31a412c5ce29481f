-- cancel: notes that the running execution shall be given up; renew tells it.
--
-- Parameters  1 fingerprint  2 execution
-- Returns     one row, or none where there is nothing to give up
--
-- Closes the race between comparing and noting: an execution that began in between is not meant.
UPDATE oncegate_record SET cancelled = true
WHERE fingerprint = $1 AND execution = $2 AND status = 'processing' AND lease_until > oncegate_now()
RETURNING fingerprint

-- secret: the deployment's secret: the one kept before, else the candidate.
--
-- Parameters  1 candidate
-- Returns     one row (value)
--
-- Closes the race between looking and writing: of several first candidates one stays.
INSERT INTO oncegate_setting AS s (name, value) VALUES ('secret', $1)
ON CONFLICT (name) DO UPDATE SET value = s.value
RETURNING value

-- sweep-pieces: removes a batch of the pieces of logs that no record holds any more.
--
-- Parameters  1 at most so many pieces, of as many logs
-- Returns     one row (looked): how many pieces and logs went; fewer than asked for: there are no more for now
--
-- No race to close: nothing is ever added to such a log. What another sweep holds is left to it.
WITH logs AS (
  SELECT log FROM oncegate_dropped_log ORDER BY log LIMIT $1 FOR UPDATE SKIP LOCKED
), pieces AS (
  DELETE FROM oncegate_piece
  WHERE ctid = ANY (ARRAY(SELECT p.ctid FROM oncegate_piece AS p WHERE p.log = ANY (ARRAY(SELECT log FROM logs)) LIMIT $1))
  RETURNING log
), counted AS (
  SELECT count(*)::integer AS count FROM pieces
), done AS (
  DELETE FROM oncegate_dropped_log AS d USING logs, counted WHERE d.log = logs.log AND counted.count < $1
  RETURNING d.log
)
SELECT counted.count + (SELECT count(*)::integer FROM done) AS looked FROM counted

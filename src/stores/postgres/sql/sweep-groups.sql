-- sweep-groups: removes a batch of the groups that nobody holds any more, of the places that nobody keeps, and of the names that
-- no record can have any more.
--
-- Parameters  1 at most so many of each
-- Returns     one row (looked): how many went, at most so many; fewer than asked for: there are no more for now
--
-- Closes the race between looking and removing: what was taken or kept since the look is compared again before it goes.
WITH held AS (
  DELETE FROM oncegate_group
  WHERE ctid = ANY (ARRAY(SELECT ctid FROM oncegate_group WHERE until <= oncegate_now() LIMIT $1)) AND until <= oncegate_now()
  RETURNING name
), kept AS (
  DELETE FROM oncegate_waiter
  WHERE ctid = ANY (ARRAY(SELECT ctid FROM oncegate_waiter WHERE until <= oncegate_now() LIMIT $1)) AND until <= oncegate_now()
  RETURNING execution
), named AS (
  DELETE FROM oncegate_name
  WHERE ctid = ANY (ARRAY(SELECT ctid FROM oncegate_name WHERE until <= oncegate_now() LIMIT $1)) AND until <= oncegate_now()
  RETURNING name
)
SELECT greatest((SELECT count(*) FROM held), (SELECT count(*) FROM kept), (SELECT count(*) FROM named))::integer AS looked

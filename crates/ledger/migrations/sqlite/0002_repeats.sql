-- A report that repeats what the ledger knows, as a check after an edit does, must write little.

-- Which races a run saw, as runs of neighbouring rows; `sightings` reads as it did.
CREATE TABLE spans (
    run_id BIGINT NOT NULL REFERENCES runs (id),
    first_race BIGINT NOT NULL,
    last_race BIGINT NOT NULL,
    PRIMARY KEY (run_id, first_race)
);
CREATE INDEX spans_by_race ON spans (first_race, last_race, run_id);
INSERT INTO spans (run_id, first_race, last_race)
SELECT run_id, MIN(race_id), MAX(race_id)
FROM (
    SELECT run_id, race_id,
        race_id - ROW_NUMBER() OVER (PARTITION BY run_id ORDER BY race_id) AS island
    FROM sightings
) AS islands
GROUP BY run_id, island;

-- The run that saw each race last: together these spans hold every race once.
CREATE TABLE latest (
    first_race BIGINT PRIMARY KEY,
    last_race BIGINT NOT NULL,
    run_id BIGINT NOT NULL REFERENCES runs (id)
);
INSERT INTO latest (first_race, last_race, run_id)
SELECT MIN(id), MAX(id), last_run
FROM (
    SELECT id, last_run, id - ROW_NUMBER() OVER (PARTITION BY last_run ORDER BY id) AS island
    FROM races
) AS islands
GROUP BY last_run, island;

-- What was recorded of each race last, as digests of so many neighbouring rows (src/memo.rs).
-- Nothing is lost without them but time.
CREATE TABLE memos (
    chunk BIGINT PRIMARY KEY,
    body BLOB NOT NULL
);

-- The rows hold when and by which run their texts were written; `races` reads as it did.
DROP TABLE sightings;
DROP INDEX races_by_last_seen;
ALTER TABLE races RENAME TO race_rows;
ALTER TABLE race_rows RENAME COLUMN last_seen TO written_at;
ALTER TABLE race_rows RENAME COLUMN last_run TO written_in;
CREATE VIEW races AS
SELECT r.id, r.number, r.fingerprint, r.object, r.proof, r.status, r.regression, r.assessment,
    r.assignee, r.race_rank, r.first_seen, u.at AS last_seen, r.first_run, u.id AS last_run,
    r.fixed_in, r.reasons, r.haystack
FROM race_rows r
JOIN latest l
    ON l.first_race = (SELECT MAX(m.first_race) FROM latest m WHERE m.first_race <= r.id)
JOIN runs u ON u.id = l.run_id;
CREATE VIEW sightings AS
SELECT r.id AS race_id, s.run_id
FROM spans s
JOIN race_rows r ON r.id BETWEEN s.first_race AND s.last_race;

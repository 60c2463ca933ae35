-- Times are milliseconds since 1970; JSON is text, so that both backends store the same bytes.

CREATE TABLE captures (
    id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL,
    target TEXT NOT NULL,
    label TEXT NOT NULL,
    at BIGINT NOT NULL,
    units TEXT NOT NULL,
    UNIQUE (target, hash)
);

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    at BIGINT NOT NULL,
    engine TEXT NOT NULL,
    command TEXT NOT NULL,
    program TEXT NOT NULL,
    target TEXT NOT NULL,
    capture_id BIGINT REFERENCES captures (id),
    conclusion TEXT NOT NULL,
    complete BIGINT NOT NULL,
    found BIGINT NOT NULL,
    excluded TEXT NOT NULL,
    notes TEXT NOT NULL,
    stats TEXT NOT NULL
);
CREATE INDEX runs_by_target ON runs (target, engine, id);

CREATE TABLE races (
    id INTEGER PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    object TEXT NOT NULL,
    proof BIGINT NOT NULL,
    status TEXT NOT NULL,
    regression BIGINT NOT NULL,
    assessment TEXT NOT NULL,
    assignee TEXT NOT NULL,
    race_rank BIGINT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    first_run BIGINT NOT NULL REFERENCES runs (id),
    last_run BIGINT NOT NULL REFERENCES runs (id),
    fixed_in BIGINT REFERENCES captures (id),
    reasons TEXT NOT NULL,
    haystack TEXT NOT NULL
);
CREATE INDEX races_by_status ON races (status, proof, race_rank);
CREATE INDEX races_by_last_seen ON races (last_seen);

-- The names a race goes by: engines may call one object differently, and one function may hold
-- several accesses that only their order (the ordinal) tells apart.
CREATE TABLE aliases (
    fingerprint TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    race_id BIGINT NOT NULL REFERENCES races (id),
    PRIMARY KEY (fingerprint, ordinal)
);

CREATE TABLE sites (
    id INTEGER PRIMARY KEY,
    race_id BIGINT NOT NULL REFERENCES races (id),
    side BIGINT NOT NULL,
    file TEXT NOT NULL,
    line BIGINT NOT NULL,
    function TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (race_id, side)
);
CREATE INDEX sites_by_file ON sites (file, line);

CREATE TABLE sightings (
    race_id BIGINT NOT NULL REFERENCES races (id),
    run_id BIGINT NOT NULL REFERENCES runs (id),
    PRIMARY KEY (race_id, run_id)
);
CREATE INDEX sightings_by_run ON sightings (run_id);

CREATE TABLE evidence (
    id INTEGER PRIMARY KEY,
    race_id BIGINT NOT NULL REFERENCES races (id),
    run_id BIGINT REFERENCES runs (id),
    at BIGINT NOT NULL,
    engine TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX evidence_by_race ON evidence (race_id, id);

CREATE TABLE schedules (
    id INTEGER PRIMARY KEY,
    race_id BIGINT NOT NULL REFERENCES races (id),
    at BIGINT NOT NULL,
    engine TEXT NOT NULL,
    schedule TEXT NOT NULL,
    UNIQUE (race_id, schedule)
);

CREATE TABLE history (
    id INTEGER PRIMARY KEY,
    race_id BIGINT NOT NULL REFERENCES races (id),
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    reason TEXT NOT NULL,
    before_state TEXT NOT NULL,
    after_state TEXT NOT NULL,
    undone BIGINT NOT NULL
);
CREATE INDEX history_by_race ON history (race_id, id);

CREATE TABLE snapshots (
    id INTEGER PRIMARY KEY,
    at BIGINT NOT NULL,
    counts TEXT NOT NULL
);

CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_by_subject ON audit (subject, id);

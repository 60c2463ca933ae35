-- The hive's own tables. Times are Unix seconds.
CREATE TABLE hive_keys (
    name  TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);
CREATE TABLE hive_projects (
    name    TEXT PRIMARY KEY,
    control TEXT NOT NULL,
    created BIGINT NOT NULL
);
CREATE TABLE hive_tokens (
    id          TEXT PRIMARY KEY,
    -- Empty for an administrator of the whole hive.
    project     TEXT NOT NULL,
    role        TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    note        TEXT NOT NULL,
    created     BIGINT NOT NULL,
    revoked     BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE hive_builds (
    id        TEXT PRIMARY KEY,
    project   TEXT NOT NULL REFERENCES hive_projects (name),
    name      TEXT NOT NULL,
    sha256    TEXT NOT NULL,
    size      BIGINT NOT NULL,
    gates     BIGINT NOT NULL,
    signature TEXT NOT NULL,
    -- 0 until the artefact has arrived whole.
    complete  BIGINT NOT NULL DEFAULT 0,
    created   BIGINT NOT NULL,
    UNIQUE (project, name)
);
CREATE TABLE hive_artefact_chunks (
    build TEXT NOT NULL REFERENCES hive_builds (id),
    seq   BIGINT NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (build, seq)
);
CREATE TABLE hive_candidates (
    build       TEXT NOT NULL REFERENCES hive_builds (id),
    idx         BIGINT NOT NULL,
    -- The gates of both sites as JSON.
    target      TEXT NOT NULL,
    race        TEXT NOT NULL,
    verdict     TEXT NOT NULL DEFAULT 'potential',
    judgement   TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (build, idx)
);
CREATE TABLE hive_reports (
    -- The ticket's nonce: one report for each assignment, whoever sends it how often.
    nonce     TEXT PRIMARY KEY,
    build     TEXT NOT NULL,
    candidate BIGINT NOT NULL,
    pod       TEXT NOT NULL,
    ord       TEXT NOT NULL,
    result    TEXT NOT NULL,
    -- The reason, the kind of violation, or `same-instant`.
    detail    TEXT NOT NULL,
    context   TEXT NOT NULL,
    violation TEXT NOT NULL,
    wait_ms   BIGINT NOT NULL,
    received  BIGINT NOT NULL
);
CREATE INDEX hive_reports_by_candidate ON hive_reports (build, candidate);
CREATE TABLE hive_pods (
    build    TEXT NOT NULL,
    pod      TEXT NOT NULL,
    -- Executed gates as a JSON list.
    executed TEXT NOT NULL,
    dropped  BIGINT NOT NULL DEFAULT 0,
    seen     BIGINT NOT NULL,
    PRIMARY KEY (build, pod)
);
CREATE TABLE hive_audit (
    id      TEXT PRIMARY KEY,
    at      BIGINT NOT NULL,
    project TEXT NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    detail  TEXT NOT NULL
);
CREATE INDEX hive_audit_by_time ON hive_audit (project, at);

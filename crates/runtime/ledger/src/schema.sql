CREATE TABLE requests (
    id            TEXT PRIMARY KEY,
    at            INTEGER NOT NULL,
    day           TEXT NOT NULL,
    project       TEXT NOT NULL,
    session       TEXT NOT NULL,
    agent         TEXT NOT NULL,
    task          TEXT,
    tool          TEXT,
    purpose       TEXT NOT NULL,
    model         TEXT NOT NULL,
    input         INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    cache_write   INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    cache_read    INTEGER NOT NULL,
    price         TEXT,
    cost          REAL,
    latency_ms    INTEGER NOT NULL,
    first_byte_ms INTEGER,
    status        TEXT NOT NULL,
    broken        TEXT
) WITHOUT ROWID;
CREATE INDEX requests_at ON requests (at);
CREATE INDEX requests_session ON requests (session);

-- What was spent of each sum: day:…, project:…, agent:…
CREATE TABLE totals (scope TEXT PRIMARY KEY, spent REAL NOT NULL) WITHOUT ROWID;

-- What requests on their way may cost; one line per sum.
CREATE TABLE holds (
    id      TEXT NOT NULL,
    scope   TEXT NOT NULL,
    amount  REAL NOT NULL,
    until   INTEGER NOT NULL,
    session TEXT NOT NULL,
    at      INTEGER NOT NULL DEFAULT 0,
    day     TEXT NOT NULL DEFAULT '',
    project TEXT NOT NULL DEFAULT '',
    agent   TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (scope, id)
) WITHOUT ROWID;
CREATE INDEX holds_id ON holds (id);

-- Sessions whose logs may know more than this file.
CREATE TABLE unsettled (session TEXT PRIMARY KEY) WITHOUT ROWID;

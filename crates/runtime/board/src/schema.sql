-- Types and values are checked, so that whoever edits the file by hand is told at once.
-- Counters: the last fence, the number of tasks, the last delivery, the last place in the archive.
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID, STRICT;

CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
    touches TEXT NOT NULL CHECK (json_valid(touches)),
    status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 5),
    -- Dependencies that are not done.
    waits_for INTEGER NOT NULL CHECK (waits_for >= 0),
    worker TEXT,
    fence INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    result TEXT,
    error TEXT,
    events INTEGER NOT NULL,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL
) STRICT;
CREATE INDEX claimable ON tasks (priority, seq, touches) WHERE status = 0 AND waits_for = 0;
CREATE INDEX leases ON tasks (lease_until) WHERE status = 1;
CREATE INDEX held_files ON tasks (id, touches) WHERE status = 1 AND touches <> '[]';
CREATE INDEX by_status ON tasks (status, seq);

CREATE TABLE dependencies (
    task INTEGER NOT NULL,
    position INTEGER NOT NULL,
    needs INTEGER NOT NULL,
    PRIMARY KEY (task, position)
) WITHOUT ROWID, STRICT;
CREATE INDEX dependents ON dependencies (needs, task);

CREATE TABLE history (
    task INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL CHECK (json_valid(event)),
    PRIMARY KEY (task, number)
) WITHOUT ROWID, STRICT;

CREATE TABLE agents (
    name TEXT PRIMARY KEY,
    lead TEXT,
    finished INTEGER NOT NULL DEFAULT 0,
    unread INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID, STRICT;

-- What one agent sent to another: how much, and how much of it is settled.
CREATE TABLE pairs (
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    sent INTEGER NOT NULL,
    settled INTEGER NOT NULL,
    PRIMARY KEY (sender, recipient)
) WITHOUT ROWID, STRICT;

CREATE TABLE mail (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    number INTEGER NOT NULL,
    in_reply_to TEXT,
    body TEXT NOT NULL,
    status INTEGER NOT NULL,
    sent INTEGER NOT NULL,
    delivery INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    deliveries INTEGER NOT NULL,
    why TEXT,
    -- Its place in the archive; none while it is unread.
    archived INTEGER
) STRICT;
CREATE INDEX unread ON mail (recipient, seq) WHERE archived IS NULL;
CREATE INDEX unread_of_pair ON mail (sender, recipient, seq) WHERE archived IS NULL;
CREATE INDEX delivered ON mail (lease_until) WHERE status = 1;
CREATE INDEX archive ON mail (archived) WHERE archived IS NOT NULL;

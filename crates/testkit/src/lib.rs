//! Fakes, fixtures and contract suites for tests. Never shipped.

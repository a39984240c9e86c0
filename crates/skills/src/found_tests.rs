//! Tests of found.

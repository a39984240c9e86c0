//! Tests of catalog.

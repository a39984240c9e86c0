//! Tests of front.

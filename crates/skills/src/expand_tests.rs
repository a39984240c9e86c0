//! Tests of expand.

//! Tests of listing.

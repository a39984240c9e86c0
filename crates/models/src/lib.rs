//! Wire protocols as pure state machines, providers as data, HTTP transport.

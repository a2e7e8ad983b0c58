//! Readers of block traces.

//! The catalogue of drive specifications, as data.

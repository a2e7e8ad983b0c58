//! TLS: clients that use it, and clients that misuse it.

mod certificates;
mod misuse;
mod options;
mod served;

//! TLS: what a server does with clients that use it, and with those that misuse it.

mod certificates;
mod misuse;
mod options;
mod served;

//! What is being served, while it is.

use std::sync::Arc;

use crate::control::{Command, Remote, Reply};
use crate::figures::Served;

/// Asks the exports of a server what they have served so far.
#[derive(Clone)]
pub struct Watcher {
    exports: Arc<[Remote]>,
}

impl Watcher {
    pub(crate) fn new(exports: Arc<[Remote]>) -> Self {
        Self { exports }
    }

    /// What each export has served so far; `None` once the server has ended.
    pub fn served(&self) -> Option<Vec<Served>> {
        let served = self
            .exports
            .iter()
            .map(|export| match export.ask(Command::Figures) {
                Ok(Reply::Served(served)) => Some(*served),
                _ => None,
            });
        served.collect()
    }
}

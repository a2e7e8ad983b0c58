//! What is being served, while it is.

use std::sync::Arc;

use crate::control::{Command, ExportHandle, Reply};
use crate::figures::Statistics;

/// Asks the exports of a server what they have served so far.
#[derive(Clone)]
pub struct Watcher {
    exports: Arc<[ExportHandle]>,
}

impl Watcher {
    pub(crate) fn new(exports: Arc<[ExportHandle]>) -> Self {
        Self { exports }
    }

    /// What each export has served so far; `None` once the server has ended.
    pub fn statistics(&self) -> Option<Vec<Statistics>> {
        let served = self
            .exports
            .iter()
            .map(|export| match export.ask(Command::Statistics) {
                Ok(Reply::Statistics(served)) => Some(*served),
                _ => None,
            });
        served.collect()
    }
}

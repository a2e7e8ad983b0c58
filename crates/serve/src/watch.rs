//! What is being served, while it is.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use crate::figures::Served;

/// Lets a service say what it has served.
pub(crate) type Ask = Box<dyn Fn(Sender<Served>) + Send + Sync>;

/// Asks the services of a server what they have served so far.
#[derive(Clone)]
pub struct Watcher {
    services: Arc<[Ask]>,
}

impl Watcher {
    pub(crate) fn new(services: Vec<Ask>) -> Self {
        Self {
            services: services.into(),
        }
    }

    /// What each export has served so far; `None` once the server has ended.
    pub fn served(&self) -> Option<Vec<Served>> {
        let ask = |service: &Ask| {
            let (answer, answered) = channel();
            service(answer);
            answered
        };
        let answers: Vec<_> = self.services.iter().map(ask).collect();
        let answers = answers.iter();
        answers.map(|answered| answered.recv().ok()).collect()
    }
}

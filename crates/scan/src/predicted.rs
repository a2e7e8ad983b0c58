//! What was predicted of the commands that an external scheduler sends.

use std::fmt;
use std::sync::Arc;

use diskarm_core::request::Request;
use diskarm_core::units::{Instant, Span};

use crate::watch::RIGHT;

/// A command that has ended, and when it was predicted to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// What was sent: with a request of the foreground, what is read in front of it in the same
    /// command.
    pub command: Request,
    /// Whether it serves a request of the foreground; otherwise it reads for the background alone.
    pub is_foreground: bool,
    /// When it was sent.
    pub sent: Instant,
    /// When it ended.
    pub ended: Instant,
    /// When it was predicted to end, once the command before had ended; `None` if the model had
    /// lost track of the device.
    pub expected: Option<Instant>,
    /// Whether predictions were relied on when it ended, and it succeeded. Only then does
    /// [`Observations::predicted`](crate::Observations::predicted) count it.
    pub is_confident: bool,
}

impl Prediction {
    /// Measured minus predicted service time: below zero, a longer one was predicted.
    pub fn error(&self) -> Option<Span> {
        self.expected.map(|expected| self.ended.after(expected))
    }

    /// Whether it ended within 50 us of the prediction.
    pub fn is_right(&self) -> bool {
        let error = self.error();
        error.is_some_and(|error| error.max(-error) <= RIGHT)
    }
}

/// A function that is called with each command beside a scan, once it has ended.
#[derive(Clone, Default)]
pub struct OnPrediction(pub(crate) Option<Arc<Call>>);

type Call = dyn Fn(&Prediction) + Send + Sync;

impl OnPrediction {
    /// Calls this one.
    pub fn calling(function: impl Fn(&Prediction) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(function)))
    }
}

impl fmt::Debug for OnPrediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnPrediction")
            .field(&self.0.is_some())
            .finish()
    }
}

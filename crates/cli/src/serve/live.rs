//! What is being served, while it is: as metrics, and for who watches.

use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use diskarm_core::units::Bytes;
use diskarm_serve::{
    Address, ExportFigures, Pace, Served, Setting, Watcher, open_metrics, serve_metrics,
};

use crate::error::Error;

/// How often a line says what was served, where there is no terminal.
const LINE: Duration = Duration::from_secs(10);

/// What is served, for output.
#[derive(Clone)]
pub struct Exports {
    pub settings: Vec<Setting>,
    /// Their sizes.
    pub sizes: Vec<Bytes>,
    pub pace: Pace,
}

impl Exports {
    /// The figures of each.
    pub fn figures(&self, served: &[Served]) -> Vec<ExportFigures> {
        let exports = self.settings.iter().zip(&self.sizes).zip(served);
        let figures =
            exports.map(|((setting, bytes), served)| setting.figures(self.pace, *bytes, served));
        figures.collect()
    }
}

/// What is served, and what has been so far.
#[derive(Clone)]
pub struct Live {
    pub exports: Exports,
    pub watcher: Watcher,
}

impl Live {
    /// The figures until now; `None` once the server has ended.
    pub fn figures(&self) -> Option<Vec<ExportFigures>> {
        let served = self.watcher.served()?;
        Some(self.exports.figures(&served))
    }

    /// Answers at `listener` what has been served.
    pub fn serve_metrics(self, listener: TcpListener) -> io::Result<()> {
        let text = move || Some(open_metrics(&self.figures()?));
        serve_metrics(listener, text)
    }

    /// Says now and then, in lines, what is being served.
    pub fn show(self) -> Shown {
        let (ended, end) = channel();
        let thread = thread::spawn(move || {
            let mut last = String::new();
            while end.recv_timeout(LINE) == Err(RecvTimeoutError::Timeout) {
                let Some(figures) = self.figures() else {
                    break;
                };
                let text: String = figures.iter().map(ExportFigures::text).collect();
                if text != last {
                    let _ = write!(io::stderr(), "{text}");
                    last = text;
                }
            }
        });
        Shown { ended, thread }
    }
}

/// A thread that shows what is being served.
pub struct Shown {
    ended: Sender<()>,
    thread: JoinHandle<()>,
}

impl Shown {
    /// Ends it.
    pub fn end(self) {
        drop(self.ended);
        let ended = self.thread.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}

/// A socket for metrics at `address`, which only this machine may reach.
pub fn metrics_socket(address: &Address) -> Result<TcpListener, Error> {
    let refused = || {
        let expected = "HOST:PORT of this machine alone";
        Error::flag("--metrics", address.to_string(), expected)
    };
    let Address::Tcp(found) = address else {
        return Err(refused());
    };
    if address.is_public() {
        return Err(refused());
    }
    TcpListener::bind(&found[..]).map_err(|source| Error::Io {
        doing: "listen",
        path: address.to_string(),
        source,
    })
}

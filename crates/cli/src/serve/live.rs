//! What is being served, while it is: as metrics, and for who watches.

use std::io::{self, IsTerminal, Write};
use std::net::TcpListener;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use diskarm_core::units::Bytes;
use diskarm_serve::{
    Address, ExportSpec, ExportStatistics, Pace, Statistics, Stopper, Watcher, open_metrics,
    serve_metrics,
};

#[cfg(feature = "dashboard")]
use super::dashboard;
use crate::error::Error;

/// How often a line says what was served, where there is no terminal.
const LINE: Duration = Duration::from_secs(10);

/// Whether what is being served is shown on a screen.
pub fn has_screen() -> bool {
    cfg!(feature = "dashboard") && io::stderr().is_terminal()
}

/// Gives the terminal back.
pub fn give_back_screen() {
    #[cfg(feature = "dashboard")]
    dashboard::restore();
}

/// What is served, for output.
#[derive(Clone)]
pub struct Exports {
    pub settings: Vec<ExportSpec>,
    /// Their sizes.
    pub sizes: Vec<Bytes>,
    pub pace: Pace,
}

impl Exports {
    /// The figures of each.
    pub fn statistics(&self, served: &[Statistics]) -> Vec<ExportStatistics> {
        let exports = self.settings.iter().zip(&self.sizes).zip(served);
        let figures =
            exports.map(|((setting, bytes), served)| setting.statistics(self.pace, *bytes, served));
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
    pub fn statistics(&self) -> Option<Vec<ExportStatistics>> {
        let served = self.watcher.statistics()?;
        Some(self.exports.statistics(&served))
    }

    /// Answers at `listener` what has been served.
    pub fn serve_metrics(self, listener: TcpListener) -> io::Result<()> {
        let text = move || Some(open_metrics(&self.statistics()?));
        serve_metrics(listener, text)
    }

    /// Shows on a terminal what is being served, or says it now and then in a line.
    pub fn show(self, stopper: Stopper) -> io::Result<Shown> {
        let (ended, end) = channel();
        #[cfg(feature = "dashboard")]
        if has_screen() {
            let thread = thread::spawn(move || dashboard::run(&self, &stopper, &end));
            return Ok(Shown { ended, thread });
        }
        drop(stopper);
        let thread = thread::spawn(move || {
            let mut last = String::new();
            while end.recv_timeout(LINE) == Err(RecvTimeoutError::Timeout) {
                let Some(figures) = self.statistics() else {
                    break;
                };
                let text: String = figures.iter().map(ExportStatistics::text).collect();
                if text != last {
                    let _ = write!(io::stderr(), "{text}");
                    last = text;
                }
            }
            Ok(())
        });
        Ok(Shown { ended, thread })
    }
}

/// A thread that shows what is being served.
pub struct Shown {
    ended: Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Shown {
    /// Ends it, and gives the terminal back.
    pub fn end(self) {
        drop(self.ended);
        // A terminal that is gone shows nothing, and nobody misses it.
        let _ = self.thread.join();
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

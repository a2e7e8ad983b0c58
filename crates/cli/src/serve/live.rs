//! Access to a running server: statistics on demand, as metrics or on the terminal, and commands.

use std::io::{self, IsTerminal, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use diskarm_core::units::Bytes;
use diskarm_serve::control::ControlServer;
use diskarm_serve::{
    Address, ExportSpec, ExportStatistics, Listener, Pace, Server, Statistics, Stopper, Watcher,
    open_metrics, serve_metrics,
};

use crate::error::Error;

#[cfg(feature = "dashboard")]
use super::dashboard;

/// The time between two lines of statistics.
const LINE: Duration = Duration::from_secs(10);

/// Returns true if `--watch` shows a full screen.
pub fn has_screen() -> bool {
    cfg!(feature = "dashboard") && io::stderr().is_terminal()
}

/// Restores the terminal after a full screen.
pub fn restore_terminal() {
    #[cfg(feature = "dashboard")]
    dashboard::restore();
}

/// The exports of a server.
#[derive(Clone)]
pub struct Exports {
    pub settings: Vec<ExportSpec>,
    pub sizes: Vec<Bytes>,
    pub pace: Pace,
}

impl Exports {
    /// Returns the statistics of each export.
    pub fn statistics(&self, served: &[Statistics]) -> Vec<ExportStatistics> {
        let exports = self.settings.iter().zip(&self.sizes).zip(served);
        let statistics =
            exports.map(|((setting, bytes), served)| setting.statistics(self.pace, *bytes, served));
        statistics.collect()
    }
}

/// Access to the current statistics of a server.
#[derive(Clone)]
pub struct Live {
    pub exports: Exports,
    pub watcher: Watcher,
}

impl Live {
    /// Returns the current statistics; `None` once the server has ended.
    pub fn statistics(&self) -> Option<Vec<ExportStatistics>> {
        let served = self.watcher.statistics()?;
        Some(self.exports.statistics(&served))
    }

    /// Answers metrics at `listener`.
    pub fn serve_metrics(self, listener: TcpListener) -> io::Result<()> {
        let text = move || Some(open_metrics(&self.statistics()?));
        serve_metrics(listener, text)
    }

    /// Shows statistics on a full screen, or as a line now and then.
    pub fn show(self, stopper: Stopper) -> io::Result<Display> {
        let (ended, end) = channel();
        #[cfg(feature = "dashboard")]
        if has_screen() {
            let thread =
                thread::spawn(move || dashboard::run(|| self.statistics(), &stopper, &end));
            return Ok(Display { ended, thread });
        }
        drop(stopper);
        let thread = thread::spawn(move || {
            let mut last = String::new();
            while end.recv_timeout(LINE) == Err(RecvTimeoutError::Timeout) {
                let Some(statistics) = self.statistics() else {
                    break;
                };
                let text: String = statistics.iter().map(ExportStatistics::text).collect();
                if text != last {
                    let _ = write!(io::stderr(), "{text}");
                    last = text;
                }
            }
            Ok(())
        });
        Ok(Display { ended, thread })
    }
}

/// A thread that shows statistics.
pub struct Display {
    ended: Sender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Display {
    /// Ends the thread and restores the terminal.
    pub fn end(self) {
        drop(self.ended);
        // Errors of a closed terminal do not matter.
        let _ = self.thread.join();
    }
}

/// Opens a socket for metrics at an address that other machines cannot reach.
pub fn metrics_socket(address: &Address) -> Result<TcpListener, Error> {
    let refused = || {
        Error::Failed(format!(
            "`--metrics` needs an address HOST:PORT that other machines cannot reach, not {address}"
        ))
    };
    let Address::Tcp(found) = address else {
        return Err(refused());
    };
    if address.is_public() {
        return Err(refused());
    }
    TcpListener::bind(&found[..]).map_err(Error::io("listen", address))
}

/// Opens the control socket at `path`.
pub fn control_socket(path: &Path) -> Result<Listener, Error> {
    let listener = Listener::bind(&Address::Unix(path.to_owned()));
    listener.map_err(Error::io("listen", path.display()))
}

/// Lets a server accept commands at `listener`.
pub fn start_control(
    server: &Server,
    listener: Listener,
    exports: &Exports,
) -> std::io::Result<()> {
    let exports = exports.clone();
    let controller = ControlServer {
        handles: server.handles(),
        statistics: Box::new(move |number, served| {
            let setting = &exports.settings[number];
            setting.statistics(exports.pace, exports.sizes[number], served)
        }),
    };
    controller.listen(listener)
}

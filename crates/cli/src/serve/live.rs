//! Access to a running server: statistics on demand, as metrics or on the terminal, and commands.

use std::io::{self, IsTerminal, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use diskarm_core::units::Bytes;
use diskarm_serve::control::Controller;
use diskarm_serve::{
    Address, ExportFigures, Listener, Pace, Served, Server, Setting, Stopper, Watcher,
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
    pub settings: Vec<Setting>,
    pub sizes: Vec<Bytes>,
    pub pace: Pace,
}

impl Exports {
    /// Returns the statistics of each export.
    pub fn figures(&self, served: &[Served]) -> Vec<ExportFigures> {
        let exports = self.settings.iter().zip(&self.sizes).zip(served);
        let figures =
            exports.map(|((setting, bytes), served)| setting.figures(self.pace, *bytes, served));
        figures.collect()
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
    pub fn figures(&self) -> Option<Vec<ExportFigures>> {
        let served = self.watcher.served()?;
        Some(self.exports.figures(&served))
    }

    /// Answers metrics at `listener`.
    pub fn serve_metrics(self, listener: TcpListener) -> io::Result<()> {
        let text = move || Some(open_metrics(&self.figures()?));
        serve_metrics(listener, text)
    }

    /// Shows statistics on a full screen, or as a line now and then.
    pub fn show(self, stopper: Stopper) -> io::Result<Display> {
        let (ended, end) = channel();
        #[cfg(feature = "dashboard")]
        if has_screen() {
            let thread = thread::spawn(move || dashboard::run(|| self.figures(), &stopper, &end));
            return Ok(Display { ended, thread });
        }
        drop(stopper);
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
        Error::Usage(format!(
            "`--metrics` needs an address HOST:PORT that other machines cannot reach, not {address}"
        ))
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

/// Opens the control socket at `path`.
pub fn control_socket(path: &Path) -> Result<Listener, Error> {
    let listener = Listener::bind(&Address::Unix(path.to_owned()));
    listener.map_err(|source| Error::Io {
        doing: "listen",
        path: path.display().to_string(),
        source,
    })
}

/// Lets a server accept commands at `listener`.
pub fn start_control(
    server: &Server,
    listener: Listener,
    exports: &Exports,
) -> std::io::Result<()> {
    let exports = exports.clone();
    let controller = Controller {
        remotes: server.remotes(),
        figures: Box::new(move |number, served| {
            let setting = &exports.settings[number];
            setting.figures(exports.pace, exports.sizes[number], served)
        }),
    };
    controller.listen(listener)
}

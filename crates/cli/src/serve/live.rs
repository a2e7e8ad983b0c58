//! Access to a running server: statistics on demand, as metrics or on the terminal, and commands.

use std::io::{IsTerminal, Write, self};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, self};
use std::time::Duration;

use diskarm_core::units::Bytes;
use diskarm_serve::control::Controller;
use diskarm_serve::{Address, ExportFigures, Listener, Pace, Served, Server, Setting, Stopper, Watcher, open_metrics, serve_metrics};

use crate::error::Error;

#[cfg(feature = "dashboard")]
use super::dashboard;

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
        Error::option("--metrics", address.to_string(), expected)
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

/// The socket at `path`.
pub fn socket(path: &Path) -> Result<Listener, Error> {
    let listener = Listener::bind(&Address::Unix(path.to_owned()));
    listener.map_err(|source| Error::Io {
        doing: "listen",
        path: path.display().to_string(),
        source,
    })
}

/// Lets a server take commands at `listener`.
pub fn start(server: &Server, listener: Listener, exports: &Exports) -> std::io::Result<()> {
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

//! The control socket of a server.

use std::path::Path;

use diskarm_serve::control::ControlServer;
use diskarm_serve::{Address, Listener, Server};

use super::live::Exports;
use crate::error::Error;

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
    let controller = ControlServer {
        handles: server.handles(),
        statistics: Box::new(move |number, served| {
            let setting = &exports.settings[number];
            setting.statistics(exports.pace, exports.sizes[number], served)
        }),
    };
    controller.listen(listener)
}

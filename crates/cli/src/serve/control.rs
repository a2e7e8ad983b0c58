//! The control socket of a server.

use std::path::Path;

use diskarm_serve::control::Controller;
use diskarm_serve::{Address, Listener, Server, Setting};

use super::live::Exports;
use crate::error::Error;

/// The socket at `path`, to control what `settings` say.
pub fn socket(path: &Path, settings: &[Setting]) -> Result<Listener, Error> {
    let records = settings.iter().find_map(|setting| setting.record.as_ref());
    if let Some(file) = records {
        let expected = "no --control with it: the drive is another after a power cut";
        return Err(Error::flag("--record", file, expected));
    }
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

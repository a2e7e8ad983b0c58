//! The drives that can be measured, by their URLs.

use diskarm_core::text::InputError;
use diskarm_core::units::Span;
use diskarm_extract::{Broken, Host, Simulated, Transport};
use diskarm_results::place::Files;
use diskarm_simulate::Model;

use crate::error::Error;

/// The help of the URL.
pub const HELP: &str = "\
The drive:
- sim:NAME: a drive of the catalogue, simulated
- sim:FILE.toml: a drive of your own specification, simulated

A simulated drive answers as a disk does, in virtual time, through a host that takes 0.05 to 0.15 \
ms between commands. It is measured without a look at its specification. It may be written to, as \
nothing is lost.";

/// The host between the commands to a simulated drive.
const HOST: Host = Host {
    least: Span::from_ns(50_000),
    most: Span::from_ns(150_000),
};

/// What is measured.
pub enum Target {
    /// A simulated drive.
    Simulated(Box<Model>),
}

impl Target {
    /// Reads a URL.
    pub fn parse(url: &str) -> Result<Self, Error> {
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(unknown(url));
        };
        match scheme {
            "sim" => {
                let model = Model::find(rest).map_err(|error| error.calling("URL"))?;
                Ok(Self::Simulated(Box::new(model)))
            }
            _ => Err(unknown(url)),
        }
    }

    /// The files that it is read from.
    pub fn files(&self) -> Files {
        match self {
            Self::Simulated(model) => Files::default().reading("URL", &model.name),
        }
    }

    /// Opens a connection. A simulated drive begins anew, with the seed for its angle and the
    /// delays of its host.
    pub fn connect(&self, seed: u64) -> Result<Box<dyn Transport>, Broken> {
        match self {
            Self::Simulated(model) => match Simulated::new(&model.spec, HOST, seed) {
                Ok(drive) => Ok(Box::new(drive)),
                Err(error) => Err(Broken(error.to_string())),
            },
        }
    }
}

fn unknown(url: &str) -> Error {
    Error::Input(InputError::new(
        "URL",
        url,
        "sim:NAME with a drive of the catalogue, or sim:FILE.toml",
    ))
}

//! `diskarm serve nbd`: drives as network block devices.

use diskarm_serve::nbd::Nbd;
use diskarm_serve::{Address, Listener, Setting};

use super::options::{self, Options};
use crate::error::Error;

/// Serve drives as network block devices (NBD)
///
/// A request enters the model when it arrives, and is answered when the model completes it. SIGTERM
/// and Ctrl-C end the server: it answers what is under way, and prints what it has served and how
/// late its replies were.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,

    /// Where to listen: HOST:PORT or unix:PATH; may be repeated [default: 127.0.0.1:10809, or the
    /// sockets that systemd passes]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Vec<Address>,

    /// Listen where other machines can connect, though nothing is encrypted
    #[arg(long)]
    insecure: bool,
}

fn address(text: &str) -> Result<Address, String> {
    Address::parse(text).ok_or_else(|| format!("expected {}", Address::EXPECTED))
}

/// Serves until a signal comes.
pub fn run(args: Args) -> Result<(), Error> {
    let settings = args.options.settings()?;
    let uri = |listener: &Listener, setting: &Setting| listener.uri(&setting.name);
    let listen = || args.listeners();
    args.options
        .serve(Nbd, &settings, Setting::build, listen, uri)
}

impl Args {
    /// The sockets on which to listen.
    fn listeners(&self) -> Result<Vec<Listener>, Error> {
        let listeners = options::listeners(&self.listen, "127.0.0.1:10809")?;
        match listeners.iter().find(|listener| listener.is_public()) {
            Some(public) if !self.insecure => {
                let found = public.uri("");
                let expected = "an address of this machine alone, or --insecure";
                Err(Error::flag("--listen", found, expected))
            }
            _ => Ok(listeners),
        }
    }
}

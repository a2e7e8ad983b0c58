//! `diskarm serve iscsi`: drives as iSCSI targets.

use diskarm_serve::iscsi::{Iscsi, is_target_name, target_name};
use diskarm_serve::{Address, ExportSpec, Listener};

use super::options::{self, Options};
use crate::chap;
use crate::error::Error;

/// Serve drives as iSCSI targets, with one logical unit each
///
/// A command enters the model when it has arrived with its data, and is answered when the model
/// completes it. SIGTERM and Ctrl-C end the server: it answers what is under way, and prints what
/// it has served and how late its replies were.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,

    /// Where to listen; may be repeated [default: 127.0.0.1:3260, or the sockets that systemd
    /// passes]
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    listen: Vec<Address>,

    /// Let only those connect that know a secret (CHAP): file:PATH or env
    ///
    /// file:PATH: a file with a line "initiator NAME SECRET". With a line "target NAME SECRET" the
    /// server proves who it is, too. Secrets have at least 12 characters. The file must be its
    /// owner's alone (mode 600).
    ///
    /// env: the environment variables DISKARM_CHAP_INITIATOR and DISKARM_CHAP_TARGET, each with a
    /// name and a secret.
    #[arg(long, value_name = "WHERE")]
    chap: Option<String>,

    /// Listen where other machines can connect, though without CHAP anybody may
    #[arg(long)]
    insecure: bool,
}

fn address(text: &str) -> Result<Address, &'static str> {
    let address = Address::parse(text).filter(|address| matches!(address, Address::Tcp(_)));
    address.ok_or("expected HOST:PORT")
}

/// Serves until a signal comes.
pub fn run(args: Args) -> Result<(), Error> {
    let accounts = args.chap.as_deref().map(chap::accounts).transpose()?;
    let settings = args.options.settings()?;
    if let Some(setting) = settings
        .iter()
        .find(|setting| !is_target_name(&setting.name))
    {
        let expected = "a name of lower-case letters, digits, '-', '.' and ':'";
        return Err(Error::flag("--export", &setting.name, expected));
    }
    let uri = |listener: &Listener, setting: &ExportSpec| {
        let address = listener.tcp_address();
        let address = address.map_or_else(String::new, |address| address.to_string());
        format!("iscsi://{address}/{}/0", target_name(&setting.name))
    };
    let is_open = accounts.is_none();
    let listen = || args.listeners(is_open);
    args.options.serve(
        Iscsi::new(accounts),
        &settings,
        ExportSpec::build_unit,
        listen,
        uri,
    )
}

impl Args {
    /// The sockets on which to listen.
    fn listeners(&self, is_open: bool) -> Result<Vec<Listener>, Error> {
        let is_private = is_open && !self.insecure;
        let expected = "an address of this machine alone, --chap, or --insecure";
        let private = is_private.then_some(expected);
        let listeners = options::listeners(&self.listen, "127.0.0.1:3260", private)?;
        if listeners.iter().any(|one| one.tcp_address().is_none()) {
            let expected = "sockets of TCP alone";
            return Err(Error::flag("--listen", "a Unix socket", expected));
        }
        Ok(listeners)
    }
}

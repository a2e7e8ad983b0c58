//! `diskarm serve iscsi`: serves drives as iSCSI targets.

use diskarm_serve::iscsi::{Iscsi, is_target_name, target_name};
use diskarm_serve::{Address, ExportSpec, Listener};

use super::server::{self, Options};
use crate::args;
use crate::error::Error;

/// Serve drives as iSCSI targets, with one logical unit each
///
/// A command enters the model when it has arrived with its data, and is answered when the model
/// completes it. SIGTERM and Ctrl-C stop the server: it answers requests in progress, and prints
/// request counts and the lateness of its replies.
///
/// The data of commands in progress take at most 512 MiB of memory, and 4 MiB more for each
/// session.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,

    /// Address to listen on; may be repeated [default: 127.0.0.1:3260, or the sockets that systemd
    /// passes]
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    listen: Vec<Address>,

    /// Accept only clients that know a secret (CHAP), from file:PATH or env
    ///
    /// file:PATH: a file with a line "initiator NAME SECRET". With a line "target NAME SECRET" the
    /// server proves its identity too. Secrets have at least 12 characters. Only the file's
    /// owner may have access to it (mode 600).
    ///
    /// env: the environment variables DISKARM_CHAP_INITIATOR and DISKARM_CHAP_TARGET, each with a
    /// name and a secret.
    #[arg(long, value_name = "WHERE")]
    chap: Option<String>,

    /// Allow connections from other machines without CHAP
    #[arg(long)]
    insecure: bool,
}

fn address(text: &str) -> Result<Address, &'static str> {
    let address = Address::parse(text).filter(|address| matches!(address, Address::Tcp(_)));
    address.ok_or("expected HOST:PORT")
}

pub fn run(args: Args) -> Result<(), Error> {
    let accounts = args.chap.as_deref().map(args::accounts).transpose()?;
    let mut plan = args.options.plan()?;
    let mut names = plan.specs.iter().map(|spec| &spec.name);
    if let Some(name) = names.find(|name| !is_target_name(name)) {
        let expected = "a name of lower-case letters, digits, '-', '.' and ':'";
        return Err(Error::option("--export", name, expected));
    }
    let uri = |listener: &Listener, spec: &ExportSpec| {
        let address = listener.tcp_address();
        let address = address.map_or_else(String::new, |address| address.to_string());
        format!("iscsi://{address}/{}/0", target_name(&spec.name))
    };
    let is_open = accounts.is_none();
    let listen = || args.listeners(is_open);
    plan.files = args::with_secrets(plan.files, args.chap.as_deref());
    let iscsi = Iscsi::new(accounts);
    args.options
        .serve(iscsi, plan, ExportSpec::build_unit, listen, uri)
}

impl Args {
    fn listeners(&self, is_open: bool) -> Result<Vec<Listener>, Error> {
        let is_private = is_open && !self.insecure;
        let expected = "protect the server with --chap, or allow it with --insecure";
        let private = is_private.then_some(expected);
        let listeners = server::listeners(&self.listen, "127.0.0.1:3260", private)?;
        if listeners.iter().any(|one| one.tcp_address().is_none()) {
            let message = "`--listen`: iSCSI needs TCP sockets, not a Unix socket";
            return Err(Error::Failed(message.to_owned()));
        }
        Ok(listeners)
    }
}

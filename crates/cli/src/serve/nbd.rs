//! `diskarm serve nbd`: serves drives as network block devices.

use std::path::PathBuf;

use diskarm_core::text::InputError;
use diskarm_results::prose;
use diskarm_serve::nbd::Nbd;
use diskarm_serve::{Address, ExportSpec, Listener, Tls, TlsError};

use super::server::{self, Options};
use crate::error::Error;

/// Serve drives as network block devices (NBD)
///
/// A request enters the model when it arrives, and is answered when the model completes it. SIGTERM
/// and Ctrl-C stop the server: it answers requests in progress, and prints request counts and
/// the lateness of its replies.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,

    /// Address to listen on: HOST:PORT or unix:PATH; may be repeated [default: 127.0.0.1:10809, or
    /// the sockets that systemd passes]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Vec<Address>,

    /// Encrypt connections with TLS, using the certificate and key in this folder
    #[arg(long, value_name = "DIR", long_help = prose::flowing(CERTIFICATES))]
    tls_certificates: Option<PathBuf>,

    /// Require TLS, or let clients choose
    #[arg(long, value_name = "MODE", default_value = "require")]
    tls: Mode,

    /// Accept only clients with a certificate from the authority in ca-cert.pem
    #[arg(long)]
    tls_verify_peer: bool,

    /// Allow unencrypted connections from other machines
    #[arg(long)]
    insecure: bool,
}

const CERTIFICATES: &str = "Encrypt connections with TLS, using the certificate and key in \
this folder.

The files have the names that nbdkit and QEMU use: server-cert.pem, server-key.pem, and \
ca-cert.pem for --tls-verify-peer. TLS 1.2 and 1.3 are supported, \
pre-shared keys (PSK) are not.";

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    /// Clients choose
    On,
    /// Clients without TLS are refused
    Require,
}

fn address(text: &str) -> Result<Address, String> {
    Address::parse(text).ok_or_else(|| format!("expected {}", Address::EXPECTED))
}

pub fn run(args: Args) -> Result<(), Error> {
    let mut plan = args.options.plan()?;
    let tls = args.tls()?;
    let is_secure = tls.as_ref().is_some_and(|tls| tls.is_required);
    let uri = |listener: &Listener, spec: &ExportSpec| listener.uri(&spec.name, is_secure);
    let listen = || args.listeners(is_secure);
    if let Some(folder) = &args.tls_certificates {
        for name in [Tls::CERTIFICATE, Tls::KEY, Tls::AUTHORITY] {
            let path = folder.join(name);
            plan.files = plan.files.with_input_file("--tls-certificates", path);
        }
    }
    for address in &args.listen {
        server::claim(&mut plan.files, "--listen", address)?;
    }
    if let Some(key) = tls.as_ref().and_then(|tls| tls.exposed_key.as_ref()) {
        let key = key.display();
        plan.warnings.push(format!(
            "other users of this machine can access the key {key}: run chmod 600 {key}"
        ));
    }
    let nbd = Nbd { tls };
    args.options
        .serve(nbd, plan, ExportSpec::build, listen, uri)
}

impl Args {
    fn tls(&self) -> Result<Option<Tls>, Error> {
        let Some(folder) = &self.tls_certificates else {
            return Ok(None);
        };
        let is_required = self.tls == Mode::Require;
        if self.tls_verify_peer && !is_required {
            let message = "`--tls on` cannot be combined with `--tls-verify-peer`: a client \
                           without TLS has no certificate";
            return Err(Error::Failed(message.to_owned()));
        }
        let tls = Tls::load(folder, self.tls_verify_peer).map_err(|error| match error {
            TlsError::Unreadable { path, source } => Error::io("read", path.display())(source),
            TlsError::Invalid {
                path,
                found,
                expected,
            } => InputError::shown(path.display().to_string(), found, expected).into(),
        });
        let mut tls = tls?;
        tls.is_required = is_required;
        Ok(Some(tls))
    }

    fn listeners(&self, is_secure: bool) -> Result<Vec<Listener>, Error> {
        let is_private = !is_secure && !self.insecure;
        let expected = "encrypt with --tls-certificates, or allow it with --insecure";
        server::listeners(
            &self.listen,
            "127.0.0.1:10809",
            is_private.then_some(expected),
        )
    }
}

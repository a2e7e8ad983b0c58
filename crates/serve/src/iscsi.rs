//! An iSCSI target without sockets: what initiators send goes in, and what they are to be sent
//! comes out.
//!
//! Each export is a target with one logical unit. What an initiator sends begins with a [`Login`];
//! then it is a [`Connection`] of a session, whose commands the unit executes. What a session
//! negotiates (RFC 7143) is what the target can do: up to [`MAX_CONNECTIONS`] connections for a
//! session, no recovery from errors but to begin again, and one request for data at a time.

mod chap;
mod command;
mod connection;
mod desk;
mod discovery;
mod disk;
mod frame;
mod joining;
mod keys;
mod login;
mod manage;
mod media;
mod messages;
mod power;
mod register;
mod reply;
mod security;
mod session;
mod task;
mod window;

use std::io;
use std::sync::Arc;

pub use chap::{Account, Accounts};
pub use connection::Connection;
pub use desk::IscsiTarget;
pub use disk::{Disk, InstantDevice};
pub use keys::{MAX_CONNECTIONS, MAX_RECEIVE};
pub use login::Login;
pub use media::UnitStore;
pub use window::MAX_COST;

use self::register::Register;
use crate::export::Export;
use crate::server::Protocol;
use crate::sockets::Waker;
use crate::stream::Stream;

/// What the names of all targets begin with. `example.com` belongs to nobody (RFC 2606).
pub const TARGET: &str = "iqn.2026-01.com.example.diskarm";

/// The number of the only portal group.
const PORTAL_GROUP: u16 = 1;

/// How many commands with numbers an initiator may have under way.
const WINDOW: u32 = 64;

/// The name of the target that serves the export called `name`.
pub fn target_name(name: &str) -> String {
    match name {
        "" => TARGET.to_owned(),
        name => format!("{TARGET}:{name}"),
    }
}

/// Whether `name` can be part of the name of a target (RFC 7143, "iSCSI Name Encoding").
pub fn is_target_name(name: &str) -> bool {
    let is_of_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:".contains(&byte);
    name.bytes().all(is_of_name) && target_name(name).len() <= login::MAX_NAME
}

/// iSCSI as the protocol of a server.
pub struct Iscsi {
    settings: Arc<Settings>,
}

/// What all logins need to know.
struct Settings {
    /// Without them anybody is let in.
    accounts: Option<Accounts>,
    /// The sessions that there are.
    register: Register,
}

impl Iscsi {
    /// Lets in those who know a secret of `accounts`, or anybody.
    pub fn new(accounts: Option<Accounts>) -> Self {
        let settings = Settings {
            accounts,
            register: Register::default(),
        };
        Self {
            settings: Arc::new(settings),
        }
    }

    /// Begins with an initiator that has connected to `address`.
    pub fn login(&self, address: String) -> Login {
        Login::new(Arc::clone(&self.settings), address)
    }
}

impl Protocol for Iscsi {
    type Device = Disk;
    type Handshake = Login;
    type Service = IscsiTarget;

    fn greet(&self, stream: &Stream) -> Login {
        self.login(stream.local_address())
    }

    fn serve(&self, export: Export<Disk>, waker: Waker) -> io::Result<IscsiTarget> {
        IscsiTarget::new(export, waker)
    }
}

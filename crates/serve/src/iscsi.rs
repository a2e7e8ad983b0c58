//! An iSCSI target without sockets: turns the bytes of initiators into replies.
//!
//! Each export is a target with one logical unit. A connection starts with a [`Login`] and then
//! becomes a [`Connection`] of a session. The unit executes the commands of the session. A session
//! (RFC 7143) has up to [`MAX_CONNECTIONS`] connections, no error recovery, and one outstanding R2T
//! per command.

mod connection;
mod frame;
mod login;
mod memory;
mod parameters;
mod register;
mod security;
mod session;
mod target;
mod unit;

use std::io;
use std::sync::Arc;

use crate::export::Export;
use crate::nonblocking::Waker;
use crate::server::Protocol;
use crate::sockets::Stream;
pub use connection::Connection;
pub use login::Login;
pub use memory::{SESSION_MEMORY, SHARED_MEMORY, SharedMemory};
pub use parameters::{MAX_CONNECTIONS, MAX_RECEIVE, TARGET, is_target_name, target_name};
use register::{Register, Settings};
pub use security::{Account, Accounts};
pub use session::MAX_COST;
pub use target::IscsiTarget;
pub use unit::{Disk, InstantDevice, UnitStore};

pub struct Iscsi {
    settings: Arc<Settings>,
    memory: SharedMemory,
}

impl Iscsi {
    /// Accepts any initiator if `accounts` is `None`, otherwise only those that know the secret.
    pub fn new(accounts: Option<Accounts>) -> Self {
        let settings = Settings {
            accounts,
            register: Register::default(),
        };
        Self {
            settings: Arc::new(settings),
            memory: SharedMemory::default(),
        }
    }

    /// Starts the login of an initiator that has connected to `address`.
    pub fn login(&self, address: String) -> Login {
        Login::new(Arc::clone(&self.settings), address)
    }
}

impl Protocol for Iscsi {
    type Device = Disk;
    type Handshake = Login;
    type Service = IscsiTarget;

    fn accept(&self, stream: &Stream) -> Login {
        self.login(stream.local_address.clone())
    }

    fn serve(&self, export: Export<Disk>, waker: Waker) -> io::Result<IscsiTarget> {
        let target = IscsiTarget::new(export, waker)?;
        Ok(target.with_memory(self.memory.clone()))
    }
}

//! The register of all sessions. Logins start or join them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diskarm_wire::iscsi::login_status;

use super::parameters::Parameters;
use super::security::Accounts;

/// The settings and the register shared by all logins.
pub struct Settings {
    /// `None` if any initiator is accepted.
    pub accounts: Option<Accounts>,
    pub register: Register,
}

/// An initiator's name for a session (RFC 7143, "SSID", without the target's part).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionName {
    pub initiator: String,
    /// The initiator's part of the session id.
    pub isid: [u8; 6],
    /// The name of the target; empty for a discovery session.
    pub target: String,
}

#[derive(Clone, Default)]
pub struct Register(Arc<Mutex<Sessions>>);

#[derive(Default)]
struct Sessions {
    /// The session id that was assigned last.
    last: u16,
    all: Vec<RegisteredSession>,
}

struct RegisteredSession {
    tsih: u16,
    name: SessionName,
    parameters: Parameters,
    connections: Vec<u16>,
}

/// A connection of a registered session. Dropping the last connection of a session removes the
/// session.
pub struct Member {
    register: Register,
    pub name: SessionName,
    /// The target's part of the session id, never zero.
    pub tsih: u16,
    /// The initiator's id for the connection.
    pub connection: u16,
}

impl Register {
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn start(&self, name: SessionName, connection: u16, parameters: Parameters) -> Member {
        let mut sessions = self.sessions();
        let mut tsih = sessions.last;
        loop {
            tsih = tsih.wrapping_add(1);
            if tsih != 0 && sessions.all.iter().all(|known| known.tsih != tsih) {
                break;
            }
        }
        sessions.last = tsih;
        sessions.all.push(RegisteredSession {
            tsih,
            name: name.clone(),
            parameters,
            connections: vec![connection],
        });
        Member {
            register: self.clone(),
            name,
            tsih,
            connection,
        }
    }

    /// Adds a connection to a session, or replaces one; also returns the session's parameters. The
    /// error is the status of the failed login.
    pub fn join(
        &self,
        tsih: u16,
        name: SessionName,
        connection: u16,
    ) -> Result<(Member, Parameters), u16> {
        let mut sessions = self.sessions();
        let mut all = sessions.all.iter_mut();
        let found = all.find(|known| known.tsih == tsih && known.name == name);
        let known = found.ok_or(login_status::NO_SESSION)?;
        let connections = known.connections.iter();
        let others = connections.filter(|other| **other != connection);
        if others.count() >= known.parameters.max_connections.into() {
            return Err(login_status::TOO_MANY_CONNECTIONS);
        }
        known.connections.push(connection);
        let parameters = known.parameters;
        drop(sessions);
        let member = Member {
            register: self.clone(),
            name,
            tsih,
            connection,
        };
        Ok((member, parameters))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut sessions = self.register.sessions();
        let mut all = sessions.all.iter_mut();
        if let Some(known) = all.find(|known| known.tsih == self.tsih) {
            let mut names = known.connections.iter();
            if let Some(index) = names.position(|name| *name == self.connection) {
                known.connections.remove(index);
            }
        }
        sessions.all.retain(|known| !known.connections.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(initiator: &str) -> SessionName {
        SessionName {
            initiator: initiator.to_owned(),
            isid: [1; 6],
            target: "t".to_owned(),
        }
    }

    #[test]
    fn a_session_lives_as_long_as_its_connections() {
        let register = Register::default();
        let parameters = Parameters {
            max_connections: 2,
            ..Parameters::default()
        };
        let first = register.start(name("a"), 0, parameters);
        let join = |from: &str, connection| register.join(first.tsih, name(from), connection);
        let refused = |from, connection| join(from, connection).err();
        assert_eq!(refused("b", 1), Some(login_status::NO_SESSION));
        let (second, joined_parameters) = join("a", 1).expect("a session");
        assert_eq!((second.tsih, joined_parameters), (first.tsih, parameters));
        let full = login_status::TOO_MANY_CONNECTIONS;
        assert_eq!(refused("a", 2), Some(full));
        // A reconnection replaces the old connection, which may be dropped later.
        let (replacement, _) = join("a", 1).expect("a session");
        drop(second);
        assert_eq!(refused("a", 2), Some(full));
        drop(replacement);
        let (third, _) = join("a", 2).expect("a session");
        let tsih = first.tsih;
        drop((first, third));
        let gone = register.join(tsih, name("a"), 0).err();
        assert_eq!(gone, Some(login_status::NO_SESSION));
    }

    /// Session ids are unique and never zero.
    #[test]
    fn session_ids_are_reused() {
        let register = Register::default();
        let start = || register.start(name("a"), 0, Parameters::default());
        let first = start();
        let mut others: Vec<u16> = (0..u16::MAX - 1).map(|_| start().tsih).collect();
        let next = start();
        assert_eq!((first.tsih, next.tsih), (1, 2));
        others.push(first.tsih);
        others.sort_unstable();
        assert!(others.iter().copied().eq(1..=u16::MAX));
    }
}

//! The sessions of all targets, which logins begin or join.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diskarm_wire::iscsi::login_status;

use super::keys::Parameters;

/// What an initiator calls a session (RFC 7143, "SSID", without the target's part).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub initiator: String,
    /// Its part of the name of the session.
    pub isid: [u8; 6],
    /// The target's name; empty for a discovery session.
    pub target: String,
}

#[derive(Clone, Default)]
pub struct Register(Arc<Mutex<Sessions>>);

#[derive(Default)]
struct Sessions {
    /// The target's part of the name of the last.
    last: u16,
    all: Vec<Known>,
}

/// A session with the names of its connections.
struct Known {
    tsih: u16,
    name: Name,
    parameters: Parameters,
    connections: Vec<u16>,
}

/// A connection of a session, which is known until its last is dropped.
pub struct Member {
    register: Register,
    pub name: Name,
    /// The target's part of the name of the session, which is not zero.
    pub tsih: u16,
    /// What the initiator calls the connection.
    pub connection: u16,
}

impl Register {
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session with a first connection.
    pub fn begin(&self, name: Name, connection: u16, parameters: Parameters) -> Member {
        let mut sessions = self.sessions();
        let mut tsih = sessions.last;
        loop {
            tsih = tsih.wrapping_add(1);
            if tsih != 0 && sessions.all.iter().all(|known| known.tsih != tsih) {
                break;
            }
        }
        sessions.last = tsih;
        sessions.all.push(Known {
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

    /// Joins a session with a connection, which may take the place of one of the same name; also
    /// returns what was negotiated for the session.
    ///
    /// # Errors
    /// The result of a login that fails.
    pub fn join(
        &self,
        tsih: u16,
        name: Name,
        connection: u16,
    ) -> Result<(Member, Parameters), u16> {
        let mut sessions = self.sessions();
        let mut all = sessions.all.iter_mut();
        let known = all.find(|known| known.tsih == tsih && known.name == name);
        let known = known.ok_or(login_status::NO_SESSION)?;
        let others = known
            .connections
            .iter()
            .filter(|other| **other != connection);
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
            if let Some(place) = names.position(|name| *name == self.connection) {
                known.connections.remove(place);
            }
        }
        sessions.all.retain(|known| !known.connections.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(initiator: &str) -> Name {
        Name {
            initiator: initiator.to_owned(),
            isid: [1; 6],
            target: "t".to_owned(),
        }
    }

    #[test]
    fn a_session_is_known_while_it_has_connections() {
        let register = Register::default();
        let parameters = Parameters {
            max_connections: 2,
            ..Parameters::default()
        };
        let first = register.begin(name("a"), 0, parameters);
        let join = |of: &str, connection| register.join(first.tsih, name(of), connection);
        let refused = |of, connection| join(of, connection).err();
        assert_eq!(refused("b", 1), Some(login_status::NO_SESSION));
        let (second, agreed) = join("a", 1).expect("a session");
        assert_eq!((second.tsih, agreed), (first.tsih, parameters));
        let full = login_status::TOO_MANY_CONNECTIONS;
        assert_eq!(refused("a", 2), Some(full));
        // One that comes again takes the place of the old one, which may go later.
        let (again, _) = join("a", 1).expect("a session");
        drop(second);
        assert_eq!(refused("a", 2), Some(full));
        drop(again);
        let (third, _) = join("a", 2).expect("a session");
        let tsih = first.tsih;
        drop((first, third));
        let gone = register.join(tsih, name("a"), 0).err();
        assert_eq!(gone, Some(login_status::NO_SESSION));
    }

    /// No two sessions share a number, and none has zero.
    #[test]
    fn numbers_come_again_when_they_are_free() {
        let register = Register::default();
        let begin = || register.begin(name("a"), 0, Parameters::default());
        let first = begin();
        let mut others: Vec<u16> = (0..u16::MAX - 1).map(|_| begin().tsih).collect();
        let next = begin();
        assert_eq!((first.tsih, next.tsih), (1, 2));
        others.push(first.tsih);
        others.sort_unstable();
        assert!(others.iter().copied().eq(1..=u16::MAX));
    }
}

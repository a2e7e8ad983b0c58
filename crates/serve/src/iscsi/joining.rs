//! How connections come to sessions, and leave them.

use std::time::Instant as Wall;

use diskarm_wire::iscsi::Serial;

use super::connection::Connection;
use super::desk::{Clients, IscsiTarget};
use super::session::{Joined, Session};
use super::task::State;

impl IscsiTarget {
    /// A connection begins a session. If that was there before, it takes the place of the old one
    /// (RFC 7143, "Session Reinstatement"), whose connections are returned.
    pub(super) fn begin_session(
        &mut self,
        number: usize,
        connection: &mut Connection,
        first: Serial,
    ) -> Vec<usize> {
        let name = &connection.member.name;
        let initiator = self.identify(name);
        let old = self.place(initiator);
        let old = old.and_then(|place| self.end_session(place));
        let max = connection.parameters.max_connections;
        let mut session = Session::new(initiator, connection.member.tsih, max, first);
        session.connections.push(Joined {
            number,
            name: connection.member.connection,
        });
        let (unit, _) = self.timeline.at(Wall::now());
        unit.comes_over_iscsi(initiator, &name.initiator, name.isid);
        connection.session = Some(self.sessions.insert(session));
        let old = old.map(|old| old.connections).unwrap_or_default();
        old.into_iter().map(|joined| joined.number).collect()
    }

    /// A connection joins a session. It takes the place of one of the same name (RFC 7143,
    /// "Connection Reinstatement"), which is returned; or is returned itself if the session has
    /// ended.
    pub(super) fn join_session(&mut self, number: usize, clients: &mut Clients<'_>) -> Vec<usize> {
        let Some(connection) = clients.get_mut(number) else {
            return Vec::new();
        };
        let (tsih, name) = (connection.member.tsih, connection.member.connection);
        let place = self.place_where(|session| session.tsih == tsih);
        let joined = place.and_then(|place| Some((place, self.sessions.get_mut(place)?)));
        let Some((place, session)) = joined else {
            return vec![number];
        };
        connection.session = Some(place);
        let old = session.named(name);
        session.connections.push(Joined { number, name });
        if let Some(old) = old {
            self.cut_off(old, clients);
        }
        old.into_iter().collect()
    }

    /// Ends a connection at once, without what it has to send.
    pub(super) fn cut_off(&mut self, number: usize, clients: &mut Clients<'_>) {
        if let Some(connection) = clients.get_mut(number) {
            self.leave(number, connection);
        }
    }

    /// A connection leaves its session: what has come by it is aborted. Without connections a
    /// session ends.
    pub(super) fn leave(&mut self, number: usize, connection: &mut Connection) {
        let Some(place) = connection.session.take() else {
            return;
        };
        let Some(session) = self.sessions.get_mut(place) else {
            return;
        };
        // Of a session that has ended another may have the place.
        if !session.has(number) {
            return;
        }
        session.connections.retain(|joined| joined.number != number);
        connection.cut_off(&mut session.window);
        session.drop_early(number);
        let tasks = session.tasks.iter();
        let begun = tasks.filter(|task| task.connection == number && task.state == State::Begun);
        let begun: Vec<u64> = begun.map(|task| task.tag.0.into()).collect();
        self.served.counts.aborted += begun.len() as u64;
        if session.connections.is_empty() {
            self.end_session(place);
            return;
        }
        session.drop_tasks(|task| task.connection == number);
        let initiator = session.initiator;
        let now = Wall::now();
        for id in begun {
            let (unit, at) = self.timeline.at(now);
            unit.abort(at, initiator, id);
            self.forget_answers(|of, task| (of, task) == (initiator, id));
        }
        // What waited behind a task that is gone can begin.
        self.begin(place, now);
    }

    /// A session ends, and its initiator is gone.
    fn end_session(&mut self, place: usize) -> Option<Session> {
        let session = self.sessions.remove(place)?;
        let initiator = session.initiator;
        let (unit, at) = self.timeline.at(Wall::now());
        unit.disconnect(at, initiator);
        self.forget_answers(|of, _| of == initiator);
        Some(session)
    }
}

//! Task management functions that arrive.

use std::time::Instant as Wall;

use diskarm_wire::iscsi::{Message, Serial, TaskRequest, TaskResponse, function, task_response};

use super::desk::{Clients, IscsiTarget};
use super::messages::By;
use super::task::State;

impl IscsiTarget {
    /// Executes a task management function.
    pub(super) fn manage(
        &mut self,
        by: By,
        request: &TaskRequest,
        clients: &mut Clients<'_>,
        now: Wall,
    ) {
        let response = TaskResponse {
            response: self.execute(by.place, request, now),
            tag: request.tag,
            status: Serial(0),
            expected_command: Serial(0),
            max_command: Serial(0),
        };
        if let Some(connection) = clients.get_mut(by.number) {
            connection.say(Message::TaskResponse(response), Vec::new());
        }
        // What waited behind a task that is gone can begin.
        self.begin(by.place, now);
        if request.function == function::COLD_RESET {
            for number in clients.numbers() {
                if let Some(connection) = clients.get_mut(number) {
                    connection.finish();
                }
            }
        }
    }

    /// Returns a number of [`task_response`].
    fn execute(&mut self, place: usize, request: &TaskRequest, now: Wall) -> u8 {
        let is_of_unit = matches!(
            request.function,
            function::ABORT_TASK
                | function::ABORT_TASK_SET
                | function::CLEAR_TASK_SET
                | function::UNIT_RESET
        );
        if is_of_unit && request.lun.number() != Some(0) {
            return task_response::NO_UNIT;
        }
        let Some(session) = self.sessions.get_mut(place) else {
            return task_response::NO_TASK;
        };
        let initiator = session.initiator;
        let (unit, at) = self.timeline.at(now);
        match request.function {
            function::ABORT_TASK => return self.abort(place, request, now),
            function::ABORT_TASK_SET => {
                unit.abort_task_set(at, initiator);
                session.drop_tasks(|_| true);
                self.forget_answers(|of, _| of == initiator);
            }
            function::CLEAR_TASK_SET => {
                unit.clear_task_set(at, initiator);
                self.drop_all();
            }
            function::UNIT_RESET | function::WARM_RESET | function::COLD_RESET => {
                unit.reset(at);
                self.drop_all();
            }
            function::REASSIGN => return task_response::NO_REASSIGNMENT,
            _ => return task_response::NOT_SUPPORTED,
        }
        task_response::COMPLETE
    }

    fn abort(&mut self, place: usize, request: &TaskRequest, now: Wall) -> u8 {
        let Some(session) = self.sessions.get_mut(place) else {
            return task_response::NO_TASK;
        };
        let (initiator, tag) = (session.initiator, request.task);
        let Some(task) = session.task(tag) else {
            // It may be on its way by another connection, or wait for others.
            return match session.skip(request.task_command) {
                true => task_response::COMPLETE,
                false => task_response::NO_TASK,
            };
        };
        let id = u64::from(tag.0);
        let has_begun = task.state == State::Begun;
        session.drop_tasks(|task| task.tag == tag);
        if has_begun {
            let (unit, at) = self.timeline.at(now);
            unit.abort(at, initiator, id);
            self.forget_answers(|of, task| (of, task) == (initiator, id));
        }
        task_response::COMPLETE
    }

    /// Drops all tasks of all sessions.
    fn drop_all(&mut self) {
        for session in self.sessions.iter_mut() {
            session.drop_tasks(|_| true);
        }
        self.forget_answers(|_, _| true);
    }
}

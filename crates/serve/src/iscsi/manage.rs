//! Task management functions that arrive.

use std::time::Instant as Wall;

use diskarm_wire::iscsi::{
    Message, Serial, Tag, TaskRequest, TaskResponse, function, task_response,
};

use super::desk::{Clients, IscsiDesk};
use super::session::Order;
use super::task::State;
use crate::service::Broken;

impl IscsiDesk {
    /// Executes a task management function.
    ///
    /// # Errors
    /// If the connection must be closed.
    pub(super) fn manage(
        &mut self,
        number: usize,
        request: &TaskRequest,
        clients: &mut Clients<'_>,
        now: Wall,
    ) -> Result<(), Broken> {
        let Some(session) = clients.get_mut(number) else {
            return Ok(());
        };
        if session.order(request.immediate, request.command)? == Order::Outside {
            return Ok(());
        }
        let response = self.execute(number, request, clients, now);
        let Some(session) = clients.get_mut(number) else {
            return Ok(());
        };
        let response = TaskResponse {
            response,
            tag: request.tag,
            status: Serial(0),
            expected_command: Serial(0),
            max_command: Serial(0),
        };
        session.say(Message::TaskResponse(response), Vec::new());
        // What waited behind a task that is gone can begin.
        self.begin(session, now);
        if request.function == function::COLD_RESET {
            for number in clients.numbers() {
                if let Some(session) = clients.get_mut(number) {
                    session.finish();
                }
            }
        }
        Ok(())
    }

    /// Returns a number of [`task_response`].
    fn execute(
        &mut self,
        number: usize,
        request: &TaskRequest,
        clients: &mut Clients<'_>,
        now: Wall,
    ) -> u8 {
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
        let Some(session) = clients.get_mut(number) else {
            return task_response::NO_TASK;
        };
        let initiator = session.initiator;
        let (unit, at) = self.timeline.at(now);
        match request.function {
            function::ABORT_TASK => return self.abort(number, request.task, clients, now),
            function::ABORT_TASK_SET => {
                unit.abort_task_set(at, initiator);
                session.drop_tasks(|_| true);
                self.forget_answers(|of, _| of == initiator);
            }
            function::CLEAR_TASK_SET => {
                unit.clear_task_set(at, initiator);
                self.drop_all(clients);
            }
            function::UNIT_RESET | function::WARM_RESET | function::COLD_RESET => {
                unit.reset(at);
                self.drop_all(clients);
            }
            function::REASSIGN => return task_response::NO_REASSIGNMENT,
            _ => return task_response::NOT_SUPPORTED,
        }
        task_response::COMPLETE
    }

    fn abort(&mut self, number: usize, tag: Tag, clients: &mut Clients<'_>, now: Wall) -> u8 {
        let Some(session) = clients.get_mut(number) else {
            return task_response::NO_TASK;
        };
        let initiator = session.initiator;
        let Some(task) = session.task(tag) else {
            return task_response::NO_TASK;
        };
        let id = u64::from(tag.0);
        if task.state == State::Begun {
            let (unit, at) = self.timeline.at(now);
            unit.abort(at, initiator, id);
            self.forget_answers(|of, task| (of, task) == (initiator, id));
        }
        session.drop_tasks(|task| task.tag == tag);
        task_response::COMPLETE
    }

    /// Drops all tasks of all sessions.
    fn drop_all(&mut self, clients: &mut Clients<'_>) {
        for number in clients.numbers() {
            if let Some(session) = clients.get_mut(number) {
                session.drop_tasks(|_| true);
            }
        }
        self.forget_answers(|_, _| true);
    }
}

//! Sends a command: again while the drive does not execute it, and no more than limits allow.

use diskarm_wire::Command;
use diskarm_wire::Sense;
use diskarm_wire::sense::Key;

use super::{Disk, Timed};
use crate::{Cost, Data, Error, Limits, Reply, retry};

impl Disk<'_> {
    /// Executes a command that returns all of `data`.
    pub(super) fn data_in(&mut self, command: &Command, data: &mut [u8]) -> Result<Timed, Error> {
        let expected = data.len();
        let (timed, transferred) = self.data_up_to(command, data)?;
        if transferred < expected {
            return Err(Error::Malformed {
                command: command.operation().name,
                reason: format!("returned {transferred} bytes, expected {expected}"),
            });
        }
        Ok(timed)
    }

    /// Executes a command that returns some of `data`, and tells how much.
    pub(crate) fn data_up_to(
        &mut self,
        command: &Command,
        data: &mut [u8],
    ) -> Result<(Timed, usize), Error> {
        let room = data.len();
        let reply = self.send(command, Data::In(data))?;
        let transferred = reply.transferred.min(room);
        Ok((ended(command, reply)?, transferred))
    }

    pub(crate) fn execute(&mut self, command: &Command, data: Data<'_>) -> Result<Timed, Error> {
        let reply = self.send(command, data)?;
        ended(command, reply)
    }

    /// Sends a command, and again as long as the drive has not executed it.
    fn send(&mut self, command: &Command, mut data: Data<'_>) -> Result<Reply, Error> {
        let mut block = [0; 16];
        let length = command.emit(&mut block);
        for _ in 1..retry::MAX_ATTEMPTS {
            let reply = self.send_once(&block[..length], data.again())?;
            let Some(pause) = retry::pause(&reply, self.is_first) else {
                self.is_first = false;
                return Ok(reply);
            };
            self.repeated += 1;
            self.transport.rest(pause);
        }
        self.send_once(&block[..length], data)
    }

    /// Whether the limits are reached.
    pub fn is_spent(&self) -> bool {
        let Cost { commands, time, .. } = self.cost();
        let is_over = |limits: Limits| commands >= limits.commands || time >= limits.time;
        self.limits.is_some_and(is_over)
    }

    /// Sends a command, unless that is beyond the limits.
    fn send_once(&mut self, command: &[u8], data: Data<'_>) -> Result<Reply, Error> {
        if self.is_spent() {
            let Cost { commands, time, .. } = self.cost();
            return Err(Error::Undecided(format!(
                "gave up after {commands} commands and {:.0} s",
                time.as_s()
            )));
        }
        let reply = self.transport.execute(command, data)?;
        self.commands += 1;
        Ok(reply)
    }
}

/// When a command ended, if it did what it should. What was hard to read has been read.
fn ended(command: &Command, reply: Reply) -> Result<Timed, Error> {
    let recovered = |sense: Sense| sense.key == Key::RecoveredError && !sense.deferred;
    if reply.status == 0 || Sense::parse(&reply.sense).is_ok_and(recovered) {
        return Ok(Timed {
            sent: reply.sent,
            ended: reply.ended,
        });
    }
    Err(Error::Status {
        command: command.operation().name,
        status: reply.status,
        sense: reply.sense,
    })
}

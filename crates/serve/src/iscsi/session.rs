//! A session: the commands of an initiator, which come by one connection or several.

use diskarm_wire::iscsi::{DataOut, Lun, Message, NopOut, Serial, Tag};

use super::reply::{End, Residual};
use super::task::{State, Task};
use super::window::Window;
use crate::service::Broken;

/// How many bytes of commands that have come before their turn are kept: the unsolicited data of as
/// many as may be under way.
const MAX_EARLY: usize = 16 << 20;
/// What a message that is kept takes beside its data, in bytes.
const OVERHEAD: usize = 256;

pub struct Session {
    /// What the unit calls the initiator.
    pub initiator: u64,
    /// The target's part of the name of the session.
    pub tsih: u16,
    /// How many connections it may have.
    pub max: u16,
    pub connections: Vec<Joined>,
    pub window: Window,
    /// Commands that have no answer yet, in the order of their numbers.
    pub tasks: Vec<Task>,
    /// Commands that have come before their turn.
    early: Vec<Early>,
}

/// A connection of a session.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    /// The number of the connection.
    pub number: usize,
    /// What the initiator calls it.
    pub name: u16,
}

/// A message of a connection that waits for those before it.
pub struct Early {
    /// The number of the connection.
    pub number: usize,
    command: Serial,
    pub message: Message,
    pub data: Vec<u8>,
    /// Unsolicited data of it.
    pub parts: Vec<(DataOut, Vec<u8>)>,
}

/// A message that wants nothing.
const NOTHING: NopOut = NopOut {
    immediate: false,
    lun: Lun(0),
    tag: Tag::NONE,
    transfer: Tag::NONE,
    command: Serial(0),
    expected_status: Serial(0),
};

impl Early {
    fn size(&self) -> usize {
        let parts = self.parts.iter().map(|(_, data)| OVERHEAD + data.len());
        OVERHEAD + self.data.len() + parts.sum::<usize>()
    }

    /// Whether it is the command with this name.
    fn is_command(&self, tag: Tag) -> bool {
        matches!(&self.message, Message::Command(command) if command.tag == tag)
    }
}

impl Session {
    pub fn new(initiator: u64, tsih: u16, max: u16, first: Serial) -> Self {
        Self {
            initiator,
            tsih,
            max,
            connections: Vec::new(),
            window: Window::new(first),
            tasks: Vec::new(),
            early: Vec::new(),
        }
    }

    /// Whether it has the connection with this number.
    pub fn has(&self, number: usize) -> bool {
        self.connections
            .iter()
            .any(|joined| joined.number == number)
    }

    /// The connection with this name.
    pub fn named(&self, name: u16) -> Option<usize> {
        let mut connections = self.connections.iter();
        let found = connections.find(|joined| joined.name == name);
        found.map(|joined| joined.number)
    }

    /// Keeps a message until those before it have come, which other connections bring.
    ///
    /// # Errors
    /// If there are no others, or it is too much.
    pub fn keep_early(
        &mut self,
        number: usize,
        command: Serial,
        message: Message,
        data: Vec<u8>,
    ) -> Result<(), Broken> {
        if self.max == 1 {
            return Err(Broken);
        }
        // The same once more changes nothing.
        if !self.early.iter().any(|early| early.command == command) {
            self.early.push(Early {
                number,
                command,
                message,
                data,
                parts: Vec::new(),
            });
        }
        self.check_early()
    }

    /// Keeps data if they are those of a command that has come before its turn; otherwise returns
    /// them.
    ///
    /// # Errors
    /// If it is too much.
    pub fn keep_early_data(
        &mut self,
        number: usize,
        message: &DataOut,
        data: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, Broken> {
        let mut early = self.early.iter_mut();
        let found = early.find(|early| early.number == number && early.is_command(message.tag));
        let Some(early) = found else {
            return Ok(Some(data));
        };
        early.parts.push((*message, data));
        self.check_early()?;
        Ok(None)
    }

    fn check_early(&self) -> Result<(), Broken> {
        let size: usize = self.early.iter().map(Early::size).sum();
        if size > MAX_EARLY {
            Err(Broken)
        } else {
            Ok(())
        }
    }

    /// Lets nothing come of a command that was not its turn yet; `false` if that was before, or is
    /// not to come (RFC 7143, "Task Management Function Request": what is aborted before it comes).
    pub fn skip(&mut self, command: Serial) -> bool {
        let is_to_come = self.max > 1 && self.window.is_to_come(command);
        if is_to_come {
            self.early.retain(|early| early.command != command);
            self.early.push(Early {
                number: usize::MAX,
                command,
                message: Message::NopOut(NOTHING),
                data: Vec::new(),
                parts: Vec::new(),
            });
        }
        is_to_come
    }

    /// The message whose turn it is now.
    pub fn next_early(&mut self) -> Option<Early> {
        let expected = self.window.expected();
        let place = self
            .early
            .iter()
            .position(|early| early.command == expected)?;
        self.window.order(false, expected);
        Some(self.early.swap_remove(place))
    }

    /// Forgets what a connection has brought before its turn.
    pub fn drop_early(&mut self, number: usize) {
        self.early.retain(|early| early.number != number);
    }

    /// Keeps a command that has arrived.
    pub fn keep(&mut self, task: Task) {
        self.window.take(task.share);
        self.tasks.push(task);
    }

    /// Drops tasks that get no answer.
    pub fn drop_tasks(&mut self, of: impl Fn(&Task) -> bool) {
        let window = &mut self.window;
        self.tasks.retain(|task| {
            let is_dropped = of(task);
            if is_dropped {
                window.release(task.share);
            }
            !is_dropped
        });
    }

    /// The task with this name.
    pub fn task(&mut self, tag: Tag) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|task| task.tag == tag)
    }

    /// The next task that may begin. Those of an initiator begin in the order of their arrival, as
    /// far as their attributes want it: one whose data arrive lets others pass that are simple.
    pub fn next_to_begin(&mut self) -> Option<&mut Task> {
        use diskarm_emulate::Attribute;
        let (mut is_any, mut is_ordered) = (false, false);
        self.tasks.iter_mut().find(|task| {
            if task.state == State::Begun {
                return false;
            }
            let may_pass = match task.attribute {
                Attribute::HeadOfQueue => true,
                Attribute::Ordered => !is_any,
                Attribute::Simple => !is_ordered,
            };
            is_any = true;
            is_ordered |= task.attribute == Attribute::Ordered;
            task.state == State::Ready && may_pass
        })
    }

    /// A task has ended; returns the connection by which it came, and the answer.
    pub fn end(
        &mut self,
        tag: Tag,
        scsi_status: u8,
        sense: Vec<u8>,
        mut data: Vec<u8>,
    ) -> Option<(usize, End)> {
        let index = self.tasks.iter().position(|task| task.tag == tag)?;
        let task = self.tasks.remove(index);
        let actual = if task.writes { task.needed } else { data.len() };
        let max = if task.reads {
            task.expected as usize
        } else {
            0
        };
        data.truncate(max);
        let end = End {
            tag,
            share: task.share,
            scsi_status,
            sense,
            data,
            residual: Residual::of(task.expected, actual),
            messages: task.requests(),
            sent: 0,
        };
        Some((task.connection, end))
    }
}

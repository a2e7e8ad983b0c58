//! Serving a flush.

use super::core::{Command, Core, Served};
use crate::device::{Breakdown, Outcome};

impl Core {
    /// Completes once all data that the write cache took are on the media.
    ///
    /// No parameter set measures a flush. Assumed is the processing of a command that needs neither
    /// the arm nor a transfer: that of a read served from the buffer, and a write's completion.
    #[cold]
    pub(super) fn flush(&mut self, command: &Command) -> Served {
        let processing = self.costs.read_hit.of(self.last.op);
        let processed = command.processed(processing);
        let on_media = self.flushed(processed);
        let message = on_media.max(self.bus_free);
        let at = message + self.overheads.write_completion;
        let (queue, owed) = self.waits(command, processing);
        self.bus_free = at;
        let breakdown = Breakdown {
            queue,
            owed: owed + (on_media - processed),
            overhead: processing + self.overheads.write_completion,
            bus: message - on_media,
            ..Breakdown::default()
        };
        Served {
            completion: command.completed(at, breakdown, Outcome::Miss),
            open: self.next_open(on_media, message, at),
        }
    }
}

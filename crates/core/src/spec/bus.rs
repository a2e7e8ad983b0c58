//! The path to the host.

use super::key::{A1, DISKSIM, FLAG, TIME, word};
use crate::units::Span;

section! {
    /// The path to the host. A rate is the time of one sector at the slower of drive and host path.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Bus at "bus." |spec| (Some(&spec.bus), &mut spec.bus) {
        /// Time to send a sector to the host, at the slower of drive and path.
        read_sector: Span = Span::ZERO => TIME.fitted(1, 0.05).cited(A1);
        /// Time to take a sector from the host.
        write_sector: Span = Span::ZERO => TIME.fitted(1, 0.05).cited(A1);
        /// A read that has begun to send keeps the bus even when the buffer runs empty.
        hold_read: bool = false => FLAG.switched(22).cited(A1);
        /// Pause of a read that keeps the bus, each time the buffer has run empty, after the next
        /// sector is available.
        ///
        /// On the RZ26 it is about 0.6 ms: reads of up to 22 sectors, whose bus does not catch up
        /// with the media, end that much sooner after their last sector.
        read_restart: Span = Span::ZERO => TIME.fitted(1, 0.3);
        /// A write keeps the bus even when the buffer is full.
        hold_write: bool = false => FLAG.switched(22).cited(DISKSIM);
        /// The drive keeps the bus from command to completion.
        never_disconnect: bool = false => FLAG.switched(22).cited(DISKSIM);
        /// A write disconnects when its data have arrived; or only if the arm is still moving then.
        write_leaves: WriteLeaves = WriteLeaves::AfterData
            => word(WriteLeaves::WORDS).switched(32);
    }
}

words! {
    /// When a write disconnects between its data and its completion.
    pub enum WriteLeaves {
        /// When its data have arrived.
        AfterData = "after-data",
        /// When its data have arrived, but only if the arm is still moving then.
        IfSeeking = "if-seeking",
    }
}

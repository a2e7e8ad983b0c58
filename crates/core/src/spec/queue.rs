//! The on-board command queue.

use super::key::{DISKSIM, Key, KeyKind, count, word};
use crate::sched::PolicyConfig;

section! {
    /// The on-board command queue.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Queue at "queue." |spec| (Some(&spec.queue), &mut spec.queue) {
        /// Commands that the drive accepts at one time, including the one in service.
        depth: u32 = 1 => count("commands", 1, 1_000_000).cited(DISKSIM);
        /// The policy that orders them.
        policy: PolicyConfig = PolicyConfig::default() => Key::of(KeyKind::Policy);
        /// When the arm may move on to the next command: completion acknowledged, ready, or last
        /// sector off the media.
        preseek: PreSeek = PreSeek::Acknowledged => word(PreSeek::WORDS).cited(DISKSIM);
    }
}

words! {
    /// When the arm may move on to the next command (levels 0, 1, 2).
    pub enum PreSeek {
        /// Level 0: after the host acknowledged the completion.
        Acknowledged = "acknowledged",
        /// Level 1: when the completion message is ready.
        CompletionReady = "completion-ready",
        /// Level 2: when the last sector, and the required read-ahead, is off the media.
        MediaDone = "media-done",
    }
}

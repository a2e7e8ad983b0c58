//! What the measurements have found.

use std::borrow::Cow;

use diskarm_core::spec::Spec;
use diskarm_core::units::Span;
use serde::{Deserialize, Serialize};

use crate::cache::Facts;
use crate::hits::{ReadHits, WriteHits};
use crate::idle::Idle;
use crate::mtbrc::{Mtbrc, Pair};
use crate::overheads::{Reads, Writes};
use crate::rotation::Rotation;
use crate::seek::Seeks;
use crate::seek_command::Curves;
use crate::timing::{Timing, Written};
use crate::{Estimate, layout};

/// What the measurements have found, each `None` until it has been made and if it failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Findings {
    /// How the drive turns.
    pub rotation: Option<Rotation>,
    /// Where its blocks are.
    pub layout: Option<layout::LayoutFinding>,
    /// When its arm is free after a read.
    pub idle: Option<Idle>,
    /// What reads from the media take.
    pub reads: Option<Reads>,
    /// Seeks before reads.
    pub seeks: Option<Seeks>,
    /// What reads from the buffer take.
    pub read_hits: Option<ReadHits>,
    /// What writes to the media take.
    pub writes: Option<Writes>,
    /// What writes to the buffer take, and reads after writes.
    pub write_hits: Option<WriteHits>,
    /// Seeks before writes.
    pub write_seeks: Option<WriteSeeks>,
    /// Minimum times between completions.
    pub mtbrcs: Vec<MtbrcFinding>,
    /// Seeks by the SEEK command.
    pub seek_commands: Option<Curves>,
    /// The facts of the buffer.
    pub buffer: Option<Facts>,
}

/// The minimum time between the completions of two requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MtbrcFinding {
    /// Which requests, in words.
    pub name: String,
    /// What was found.
    pub mtbrc: Mtbrc,
    /// The pairs that it rests on.
    pub pairs: Vec<Pair>,
}

/// How seeks before writes differ from those before reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteSeeks {
    /// By a constant.
    Parallel,
    /// They have a curve of their own.
    Own(Seeks),
}

impl Findings {
    /// The drive without its buffer, if there is enough for a model.
    pub fn mechanism(&self) -> Option<Spec> {
        let mut spec = Spec {
            geometry: self.layout.as_ref()?.found.geometry.clone(),
            ..Spec::default()
        };
        self.timing()?.describe(&mut spec);
        Some(spec)
    }

    /// Seeks before reads, or those by the SEEK command.
    pub(super) fn any_seeks(&self) -> Option<Cow<'_, Seeks>> {
        let commands = self.seek_commands.as_ref();
        let commanded = || commands.map(|curves| Cow::Owned(curves.mean()));
        self.seeks.as_ref().map(Cow::Borrowed).or_else(commanded)
    }

    /// Everything about times, if there is enough for a model: rotation, seeks, and when the arm is
    /// free. What is not known of the rest takes no time.
    pub fn timing(&self) -> Option<Timing> {
        Some(Timing {
            rotation: self.rotation?,
            idle: self.idle?,
            seeks: self.any_seeks()?.into_owned(),
            reads: self.reads.unwrap_or(Reads {
                after_read: NOTHING,
                head_switch: NOTHING,
                goes_on: None,
            }),
            read_hits: self.read_hits.unwrap_or_default(),
            written: self.writes.map(|writes| Written {
                writes,
                hits: self.write_hits.unwrap_or_default(),
                seeks: match &self.write_seeks {
                    Some(WriteSeeks::Own(seeks)) => Some(seeks.clone()),
                    _ => None,
                },
            }),
        })
    }
}

const NOTHING: Estimate = Estimate {
    value: Span::ZERO,
    uncertainty: Span::ZERO,
    samples: 0,
};

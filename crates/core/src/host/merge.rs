//! Merges sequential requests into one command, and splits its completion.
//!
//! Owns where waiting requests begin.

use std::collections::{BTreeMap, VecDeque};

use crate::device::{Completion, Status};
use crate::request::{Op, Request};
use crate::sched::{Estimate, Pending, Policy};
use crate::units::{Lbn, SectorCount};

pub(super) struct Merger {
    /// Blocks of a merged command, at most.
    max: SectorCount,
    /// Waiting reads by their first block, those of one block in order of arrival.
    reads: BTreeMap<Lbn, VecDeque<Request>>,
    /// The same of writes.
    writes: BTreeMap<Lbn, VecDeque<Request>>,
}

impl Merger {
    pub fn new(max: SectorCount) -> Self {
        Self {
            max,
            reads: BTreeMap::new(),
            writes: BTreeMap::new(),
        }
    }

    /// Notes a request that waits.
    #[cold]
    pub fn add(&mut self, request: Request) {
        let begins = self.begins(request.op).entry(request.start);
        begins.or_default().push_back(request);
    }

    /// The command that the policy's choice and the requests that continue it make, and these
    /// requests in order of their blocks; they are taken out of the policy.
    #[cold]
    pub fn gather<E: Estimate>(
        &mut self,
        chosen: Pending,
        policy: &mut dyn Policy<E>,
        drive: &E,
    ) -> (Request, Vec<Pending>) {
        self.forget(&chosen.request);
        let mut whole = chosen.request;
        let mut parts = vec![chosen];
        while let Some(next) = self.behind(&whole) {
            let Some(taken) = policy.take(next.id) else {
                // It arrived after an ordered request that still waits.
                break;
            };
            policy.note_bypass(&taken.request, drive);
            self.forget(&taken.request);
            whole.sectors = SectorCount(whole.sectors.0 + taken.request.sectors.0);
            parts.push(taken);
        }
        (whole, parts)
    }

    /// The waiting request that continues `whole` and leaves it small enough.
    fn behind(&mut self, whole: &Request) -> Option<Request> {
        let max = self.max.0;
        let first = self.begins(whole.op).get(&whole.end())?.front().copied();
        let is_alike = |next: &Request| {
            (next.force_unit_access, next.priority, next.unit)
                == (whole.force_unit_access, whole.priority, whole.unit)
        };
        first.filter(|next| is_alike(next) && whole.sectors.0 + next.sectors.0 <= max)
    }

    fn begins(&mut self, op: Op) -> &mut BTreeMap<Lbn, VecDeque<Request>> {
        match op {
            Op::Read => &mut self.reads,
            Op::Write | Op::Flush => &mut self.writes,
        }
    }

    /// Forgets a request that waits no more.
    pub fn forget(&mut self, request: &Request) {
        let begins = self.begins(request.op);
        if let Some(same) = begins.get_mut(&request.start) {
            same.retain(|waiting| waiting.id != request.id);
            if same.is_empty() {
                begins.remove(&request.start);
            }
        }
    }
}

/// Turns the device's completion of a command that was merged from `parts` into that of the first,
/// and makes those of the others `due`.
#[cold]
pub(super) fn split(
    parts: &[Pending],
    completion: &mut Completion,
    due: &mut VecDeque<Completion>,
) {
    let command = *completion;
    completion.request = parts[0].request;
    completion.status = status_of(&parts[0].request, &command);
    for &Pending { request, arrived } in &parts[1..] {
        let mut own = Completion {
            request,
            arrived,
            status: status_of(&request, &command),
            ..*completion
        };
        own.breakdown.queue += completion.arrived - arrived;
        due.push_back(own);
    }
}

/// What a command's status means for one of the requests that it was made of. The drive stops at a
/// bad block: what lies before it was transferred, and what lies after it was not tried.
fn status_of(request: &Request, command: &Completion) -> Status {
    let Some(bad) = command.bad_block() else {
        return command.status;
    };
    if request.end() <= bad {
        Status::Good
    } else if request.start > bad {
        Status::Aborted
    } else {
        Status::MediumError {
            offset: (bad - request.start).0 as u16,
        }
    }
}

//! Doubts about measured responses: those that the drive cannot deliver. And about failures of
//! disks: those that no request meets, and those that lose data.

use diskarm_core::device::{Part, RedundancyWork, Work};
use diskarm_core::spec::Spec;
use diskarm_core::units::{Instant, Span};
use diskarm_fit::validate::Measured;

/// Doubts about the responses of `rows` on a drive of `spec`, one line each.
///
/// * More than half of them are shorter than the bus takes for their data alone: the unit is likely
///   to be wrong. Fewer may be: the bus rate of a specification is not exact, and a measurement
///   may begin late. A drive without a bus rate gives no cause for doubt.
/// * Some are 0, which no drive delivers. That is not an error: a clock with coarse steps rounds
///   short responses down to it, and the other rows are as good as ever.
pub fn of(rows: &[Measured], spec: &Spec) -> Vec<String> {
    let count = rows.len();
    let mut doubts = Vec::new();
    let short = rows.iter().filter(|row| row.response < bus_time(row, spec));
    let short = short.count();
    if short > count / 2 {
        let sum: Span = rows.iter().map(|row| row.response).sum();
        doubts.push(format!(
            "{short} of {count} responses are shorter than the bus transfer of their data alone, \
             and their mean is {:.3} ms: are these milliseconds?",
            sum.as_ms() / count as f64
        ));
    }
    let none = rows.iter().filter(|row| row.response == Span::ZERO);
    let none = none.count();
    if none > 0 {
        doubts.push(format!(
            "{none} of {count} responses are 0, which no drive delivers: is the clock too coarse?"
        ));
    }
    doubts
}

/// Doubts about what failures did to the `parts` of a device whose `last` request was completed
/// then, and of whose requests `failed` failed.
pub fn of_failures(parts: &[Part], last: Instant, failed: u64) -> Vec<String> {
    let doubts = parts.iter().flat_map(|part| match &part.work {
        Work::Redundancy(work) => of_redundancy(&part.name, work, last, failed),
        Work::Disk(_) | Work::Cache(_) | Work::Buffer(_) => Vec::new(),
    });
    doubts.collect()
}

/// The same for the part of this name.
fn of_redundancy(name: &str, work: &RedundancyWork, last: Instant, failed: u64) -> Vec<String> {
    let dot = if name.is_empty() { "" } else { "." };
    let late = work.failures.iter().filter(|failure| failure.at > last);
    let late = late.map(|failure| {
        format!(
            "disk {name}{dot}{} fails at {:.3} s, after the last request was completed at {:.3} s",
            failure.member,
            seconds(failure.at),
            seconds(last)
        )
    });
    let lost = work.lost.map(|lost| {
        let part = match name {
            "" => String::new(),
            name => format!(" of part {name}"),
        };
        let (at, first) = (seconds(lost.at), lost.first.0);
        let blocks = counted(lost.blocks.0, "block");
        let failed = match failed {
            0 => "no request failed".to_owned(),
            failed => counted(failed, "request") + " failed",
        };
        format!("data were lost at {at:.3} s: {blocks}{part} from block {first} on; {failed}")
    });
    late.chain(lost).collect()
}

fn counted(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// From the beginning of a run.
fn seconds(at: Instant) -> f64 {
    (at - Instant::START).as_s()
}

/// How long the bus takes for the data of a request.
fn bus_time(row: &Measured, spec: &Spec) -> Span {
    let request = &row.step.request;
    let sector = if request.op.is_read() {
        spec.bus.read_sector
    } else {
        spec.bus.write_sector
    };
    sector * request.sectors.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use diskarm_core::device::{Failure, Lost};
    use diskarm_core::engine::Step;
    use diskarm_core::request::{Op, Request};
    use diskarm_core::units::{Lbn, SectorCount};

    fn row(op: Op, response_us: i64) -> Measured {
        let request = Request::new(0, op, Lbn(0), SectorCount(10));
        let think = Span::ZERO;
        Measured {
            step: Step { request, think },
            response: Span::from_ns(1000 * response_us),
        }
    }

    /// The bus of the HP C2247 takes 1.701 ms for ten sectors read, 1.8686 ms for ten written.
    #[test]
    fn more_than_half_of_the_responses_are_shorter_than_their_bus_transfer() {
        let spec = Model::find("hp-c2247").expect("a drive").spec;
        let (read, write) = (Op::Read, Op::Write);
        let possible = [row(read, 1701), row(write, 1869)];
        let short = [row(read, 1700), row(write, 1868)];
        assert_eq!(of(&possible, &spec), [""; 0]);
        assert_eq!(of(&[possible, short].concat(), &spec), [""; 0], "half");
        let more = [&possible[..], &short, &[row(write, 1701)]].concat();
        let doubt = "3 of 5 responses are shorter than the bus transfer of their data alone, and \
                     their mean is 1.768 ms: are these milliseconds?";
        assert_eq!(of(&more, &spec), [doubt]);
        let mut unknown = spec;
        (unknown.bus.read_sector, unknown.bus.write_sector) = (Span::ZERO, Span::ZERO);
        assert_eq!(of(&more, &unknown), [""; 0]);
    }

    #[test]
    fn a_response_of_0_is_doubtful() {
        let spec = Model::find("hp-c2247").expect("a drive").spec;
        let rows = [row(Op::Read, 0), row(Op::Read, 9000), row(Op::Read, 9000)];
        let doubt = "1 of 3 responses are 0, which no drive delivers: is the clock too coarse?";
        assert_eq!(of(&rows, &spec), [doubt]);
        assert_eq!(of(&rows[1..], &spec), [""; 0]);
    }

    /// In a run whose last request was completed at 12.3 s. A failure at the same instant is not
    /// late.
    #[test]
    fn failures_that_come_too_late_and_lost_data_are_doubtful() {
        let ms = |ms: u64| Instant::from_ns(ms * 1_000_000);
        let doubts = |name: &str, failures: &[(usize, u64)], lost: Option<Lost>, failed| {
            let failures = failures
                .iter()
                .map(|&(member, at)| Failure { member, at: ms(at) });
            let work = Work::Redundancy(RedundancyWork {
                failures: failures.collect(),
                lost,
                ..RedundancyWork::default()
            });
            let name = name.to_owned();
            of_failures(&[Part { name, work }], ms(12_300), failed)
        };
        assert_eq!(doubts("", &[(2, 0), (0, 12_300)], None, 3), [""; 0]);
        let late = "disk 0 fails at 60.000 s, after the last request was completed at 12.300 s";
        assert_eq!(doubts("", &[(2, 0), (0, 60_000)], None, 3), [late]);
        let lost = |blocks| Lost {
            at: ms(60_000),
            first: Lbn(2_048),
            blocks: SectorCount(blocks),
        };
        let expected = [
            late.replace("disk 0", "disk 3.0"),
            "data were lost at 60.000 s: 7 blocks of part 3 from block 2048 on; no request failed"
                .to_owned(),
        ];
        assert_eq!(
            doubts("3", &[(1, 0), (0, 60_000)], Some(lost(7)), 0),
            expected
        );
        let one = "data were lost at 60.000 s: 1 block from block 2048 on; 1 request failed";
        assert_eq!(doubts("", &[], Some(lost(1)), 1), [one]);
    }
}

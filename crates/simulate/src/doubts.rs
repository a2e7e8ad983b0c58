//! Doubts about measured responses: those that the drive cannot deliver.

use diskarm_core::spec::Spec;
use diskarm_core::units::Span;
use diskarm_validate::Measured;

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
}

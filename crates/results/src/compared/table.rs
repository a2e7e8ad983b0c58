//! The results of replays as tables for people.

use std::fmt::Write;

use diskarm_core::units::Span;
use diskarm_fit::validate::{ANGLES, Comparison, Figures, NEAR, Residual, Residuals};

use super::{Compared, op_name, outcome_name, relation_name};

const HEADING: &str =
    "                measured simulated  demerit             sd   floor floor_phase
       requests      _ms       _ms      _ms      %     _ms     _ms         _ms
";
const RESIDUALS: &str = "                                          measured simulated  demerit
from the end of the one before   requests      _ms       _ms      _ms
";

/// Two tables for each trace, at most 80 columns wide.
pub fn text(drive: &str, compared: &[Compared]) -> String {
    let mut text = String::new();
    for one in compared {
        // Writing to a string cannot fail.
        let _ = write!(text, "{drive}, {}\n\n{HEADING}", one.file);
        let Figures {
            all,
            reads,
            writes,
            residuals,
        } = &one.figures;
        let sides = [
            ("all", Some(all)),
            ("reads", reads.as_ref()),
            ("writes", writes.as_ref()),
        ];
        for (name, side) in sides {
            text += &side.map(|side| line(name, side)).unwrap_or_default();
        }
        text += &classes(residuals);
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "Demerit: mean over {ANGLES} initial angles; sd and floor: between these. floor_phase:\n\
         between replays with random phases. Lower table: one replay, by where the\n\
         request before ended, up to {} blocks away if near, and by what the model's\n\
         buffer did. `diskarm validate --help` says more.",
        NEAR.0,
    );
    text
}

fn ms(span: Span) -> f64 {
    span.as_ms()
}

fn line(name: &str, c: &Comparison) -> String {
    let percent = c.demerit_percent().map(|percent| format!("{percent:.2}"));
    format!(
        "{name:6} {:8} {:8.3} {:9.3} {:8.4} {:>6} {:7.4} {:7.4} {:11.4}\n",
        c.count,
        ms(c.measured_mean),
        ms(c.simulated_mean),
        ms(c.demerit),
        percent.unwrap_or_default(),
        ms(c.demerit_sd),
        ms(c.floor),
        ms(c.floor_phase),
    )
}

/// The differences by where the request before was, and what the buffer did.
fn classes(residuals: &Residuals) -> String {
    let mut text = format!("\n{RESIDUALS}");
    for (op, relation, outcome, found) in &residuals.by_outcome {
        let Residual {
            count,
            measured_mean,
            simulated_mean,
            demerit,
        } = *found;
        let _ = writeln!(
            text,
            "{:5}  {:13}  {:11} {count:8} {:8.3} {:9.3} {:8.4}",
            op_name(*op),
            relation_name(*relation),
            outcome_name(*outcome),
            ms(measured_mean),
            ms(simulated_mean),
            ms(demerit),
        );
    }
    text
}

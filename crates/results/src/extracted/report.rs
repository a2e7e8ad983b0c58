//! What was measured of a drive as a page: the tables and figures of worthington96.

mod figures;
mod tables;

use diskarm_extract::suite::{Outcome, Provenance};

use super::Extracted;
use crate::html::{Html, Section, page};

/// The page. The same measurements give the same bytes.
pub fn html(extracted: &Extracted<'_>) -> String {
    let findings = &extracted.checkpoint.findings;
    let values = extracted.values();
    let mut sections: Vec<Section> = vec![
        ("drive", "The drive", tables::basics(extracted.checkpoint)),
        ("seeks", "Seek times", figures::seeks(findings)),
        ("times", "Overheads and other times", tables::times(values)),
        (
            "mtbrc",
            "Minimum times between completions",
            figures::mtbrcs(findings),
        ),
        ("buffer", "The buffer", tables::buffer(findings)),
        ("zones", "Zones", tables::zones(findings)),
        ("defects", "Defects", tables::defects(findings)),
        ("unknown", "What is not known", tables::unknown(extracted)),
        ("cost", "What it cost", tables::costs(extracted)),
    ];
    sections.retain(|(_, _, inside)| *inside != Html::default());
    page(&title(extracted), head(extracted), sections)
}

fn title(extracted: &Extracted<'_>) -> String {
    let checkpoint = extracted.checkpoint;
    format!("{}, measured over SCSI", checkpoint.identity.name())
}

/// The title, the drive, and how much was found.
fn head(extracted: &Extracted<'_>) -> Html {
    let paragraph = |class: &str, words: String| Html::with("p", &[("class", class)], words);
    let checkpoint = extracted.checkpoint;
    let serial = match checkpoint.identity.serial.as_str() {
        "" => String::new(),
        serial => format!(", serial number {serial}"),
    };
    let effort = checkpoint.options.effort.to_string();
    let writes = match checkpoint.options.writes {
        true => "with writes",
        false => "read only",
    };
    let count = |is: &dyn Fn(&Outcome) -> bool| {
        let records = checkpoint.records.iter();
        records.filter(|record| is(&record.outcome)).count()
    };
    let done = count(&|outcome| *outcome == Outcome::Done);
    let failed = count(&|outcome| matches!(outcome, Outcome::Failed(_)));
    let skipped = count(&|outcome| matches!(outcome, Outcome::Skipped(_)));
    let mut made = format!("{done} measurements made");
    for (number, what) in [(failed, "failed"), (skipped, "left out")] {
        if number > 0 {
            made += &format!(", {number} {what}");
        }
    }
    let values = extracted.values();
    let measured = |provenance: &Provenance| matches!(provenance, Provenance::Measured { .. });
    let known = values
        .iter()
        .filter(|found| measured(&found.provenance))
        .count();
    let open = values
        .iter()
        .filter(|found| matches!(found.provenance, Provenance::Unknown(_)))
        .count();
    let cost = checkpoint.cost();
    let told = format!(
        "{known} values measured, {open} not determined; {} commands in {:.0} s on the drive",
        cost.commands,
        cost.time.as_s()
    );
    let class = if failed > 0 {
        "summary warning"
    } else {
        "summary"
    };
    Html::element(
        "header",
        [
            Html::element("h1", title(extracted)),
            paragraph(
                "source",
                format!("{}{serial}; {effort} effort, {writes}", checkpoint.drive),
            ),
            Html::with(
                "div",
                &[("class", class)],
                [paragraph("count", made), paragraph("cells", told)],
            ),
        ],
    )
}

//! `cargo xtask aspctf-seq`: the study of the policy `aspctf-seq`, its plots and its table.
//!
//! Every figure comes from the built command line. The page's text is typed; only what stands
//! between its two marks is generated.

mod cells;
mod figure;
mod measure;
mod page;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use cells::Setting;
use measure::Cell;

use crate::binary;

/// The page, and the folder of its plots, from the root of the workspace.
const PAGE: &str = "docs/aspctf-seq.md";
const PLOTS: &str = "docs/aspctf-seq";

/// What the traces are read from, from the root of the workspace.
const TRACES: &str = "../shared/traces";

/// Compared, in the order of columns and colours.
const POLICIES: [&str; 5] = ["clook", "spctf", "aspctf", "aspctf-seq", "aspctf-seq(w=0)"];

/// The place of the one that the study is about; those before it are what it is set against.
const STUDIED: usize = 3;

/// A panel: a drive and a workload at all its loads.
struct Panel {
    setting: &'static Setting,
    cells: Vec<Cell>,
}

/// Writes the plots and the table; leaves all alone where the traces are absent.
pub fn run(arguments: &[String]) -> ExitCode {
    if !arguments.is_empty() {
        eprintln!("usage: cargo xtask aspctf-seq");
        return ExitCode::from(crate::USAGE);
    }
    let root = crate::root();
    if !root.join(TRACES).is_dir() {
        println!("aspctf-seq: {TRACES} is absent: {PAGE} stays as it is");
        return ExitCode::SUCCESS;
    }
    match write(&root) {
        Ok(()) => {
            println!("aspctf-seq: wrote {PAGE} and its plots");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("aspctf-seq: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(root: &Path) -> Result<(), String> {
    let binary = binary::build()?;
    let plots = root.join(PLOTS);
    fs::create_dir_all(&plots).map_err(|error| format!("{}: {error}", plots.display()))?;
    let mut all = Vec::new();
    for (name, title, settings) in cells::FIGURES {
        let mut panels = Vec::new();
        for setting in settings {
            let began = Instant::now();
            let cells = setting.loads.iter().map(|&load| {
                let cell = measure::cell(root, &binary, setting, load);
                cell.map_err(|error| format!("{} at {load}: {error}", setting.title))
            });
            let cells = cells.collect::<Result<_, String>>()?;
            println!("{}: {:.0} s", setting.title, began.elapsed().as_secs_f64());
            panels.push(Panel { setting, cells });
        }
        let file = plots.join(format!("{name}.svg"));
        let drawing = figure::figure(title, &panels);
        fs::write(&file, drawing).map_err(|error| format!("{}: {error}", file.display()))?;
        all.extend(panels);
    }
    page::renew(&root.join(PAGE), &all)
}

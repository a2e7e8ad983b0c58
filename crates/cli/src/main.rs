//! The `diskarm` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(diskarm_cli::main_with(std::env::args_os()))
}

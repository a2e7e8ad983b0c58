//! The formats, one file each. The table is [`crate::FORMATS`].

pub mod disksim;
pub mod measured;

/// The lines of a file's head, without their ends; the last may be cut.
fn head_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii)
}

//! The formats that need the feature `parquet`. Every build knows their names and how their files
//! begin, so that a build without them can say what is missing.

/// A format that this build does not support.
#[derive(Clone, Copy, Debug)]
pub struct DisabledFormat {
    /// Its name.
    pub name: &'static str,
    /// Recognises a file by its first bytes, as [`crate::Format::sniff`] does.
    pub(crate) sniff: fn(&[u8]) -> bool,
}

static OPTIONAL: [DisabledFormat; 2] = [
    DisabledFormat {
        name: "parquet",
        sniff: is_parquet,
    },
    DisabledFormat {
        name: "arrow",
        sniff: is_arrow,
    },
];

/// The formats that this build does not support.
pub fn disabled_formats() -> &'static [DisabledFormat] {
    match cfg!(feature = "parquet") {
        true => &[],
        false => &OPTIONAL,
    }
}

/// The message for a file in such a format, or a request for one.
pub(crate) fn disabled_message(format: &DisabledFormat) -> String {
    let name = format.name;
    format!(
        "format: found {name:?}, which this build does not support: build with --features parquet"
    )
}

/// Apache Parquet, File Format: the magic.
pub(crate) fn is_parquet(head: &[u8]) -> bool {
    head.starts_with(b"PAR1")
}

/// The magic of an Arrow file, or the start of a stream.
pub(crate) fn is_arrow(head: &[u8]) -> bool {
    head.starts_with(ARROW_MAGIC) || is_arrow_stream(head)
}

/// Arrow files begin and end with it (Columnar Format, IPC File Format).
pub(crate) const ARROW_MAGIC: &[u8; 6] = b"ARROW1";

/// A continuation marker and the length of the first message, a multiple of 8 (Encapsulated
/// message format).
fn is_arrow_stream(head: &[u8]) -> bool {
    let length = head.strip_prefix(&[0xff; 4]).and_then(<[u8]>::first_chunk);
    length
        .map(|bytes| i32::from_le_bytes(*bytes))
        .is_some_and(|length| length > 0 && length % 8 == 0)
}

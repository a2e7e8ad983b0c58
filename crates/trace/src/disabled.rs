//! The formats that only builds with the feature `parquet` read and write. Every build knows their
//! names and how their files begin, so that one without them can say what it lacks.

/// A format that some builds leave out.
#[derive(Clone, Copy, Debug)]
pub struct DisabledFormat {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// Whether a file that begins so is one, as [`crate::Format::sniff`].
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

/// The formats that this build leaves out.
pub fn disabled_formats() -> &'static [DisabledFormat] {
    match cfg!(feature = "parquet") {
        true => &[],
        false => &OPTIONAL,
    }
}

/// What to say of a file, or a request, for a format that this build leaves out.
pub(crate) fn disabled_message(format: &DisabledFormat) -> String {
    let name = format.name;
    format!("format: found {name:?}, which this build leaves out: build it with --features parquet")
}

/// Apache Parquet, File Format: the magic.
pub(crate) fn is_parquet(head: &[u8]) -> bool {
    head.starts_with(b"PAR1")
}

/// The magic of an Arrow file, or what begins a stream.
pub(crate) fn is_arrow(head: &[u8]) -> bool {
    head.starts_with(ARROW_MAGIC) || is_arrow_stream(head)
}

/// What Arrow files begin and end with (Columnar Format, IPC File Format).
pub(crate) const ARROW_MAGIC: &[u8; 6] = b"ARROW1";

/// The mark of a first message and its length, a multiple of 8 (Encapsulated message format).
fn is_arrow_stream(head: &[u8]) -> bool {
    let length = head.strip_prefix(&[0xff; 4]).and_then(<[u8]>::first_chunk);
    length
        .map(|bytes| i32::from_le_bytes(*bytes))
        .is_some_and(|length| length > 0 && length % 8 == 0)
}

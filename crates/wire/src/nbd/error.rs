//! Error values of replies (section "Error values").

use core::fmt;

macro_rules! errors {
    ($($(#[$about:meta])+ $name:ident = $code:literal, $text:literal;)+) => {
        /// The reason for a failed request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Error { $($(#[$about])+ $name,)+ }

        impl Error {
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Its number in replies.
            pub const fn code(self) -> u32 {
                match self { $(Self::$name => $code,)+ }
            }

            /// The error with this number; unexpected ones are [`Self::Invalid`], as the document
            /// asks of clients. `None` for zero, which is success.
            pub const fn from_code(code: u32) -> Option<Self> {
                match code {
                    0 => None,
                    $($code => Some(Self::$name),)+
                    _ => Some(Self::Invalid),
                }
            }
        }

        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)+ })
            }
        }
    };
}

errors! {
    /// `NBD_EPERM`: a write to a read-only export.
    NotPermitted = 1, "not permitted";
    /// `NBD_EIO`: the device failed.
    Io = 5, "input or output error";
    /// `NBD_ENOMEM`.
    NoMemory = 12, "out of memory";
    /// `NBD_EINVAL`: an unknown command or flag, or a range that is not aligned or ends beyond the
    /// export.
    Invalid = 22, "invalid request";
    /// `NBD_ENOSPC`: a write beyond the end of the export, or no room in the store.
    NoSpace = 28, "no space left";
    /// `NBD_EOVERFLOW`: the reply does not fit a chunk.
    Overflow = 75, "reply too long";
    /// `NBD_ENOTSUP`: zeroes cannot be written faster than data.
    NotSupported = 95, "not supported";
    /// `NBD_ESHUTDOWN`: the server is ending.
    Shutdown = 108, "server is shutting down";
}

//! Status codes of commands (SAM-5).

macro_rules! statuses {
    ($($name:ident = $code:literal, $text:literal;)+) => {
        $(
            #[doc = concat!($text, ".")]
            pub const $name: u8 = $code;
        )+

        /// Returns the name of a status in the standard; `None` for reserved and obsolete codes.
        pub const fn name(status: u8) -> Option<&'static str> {
            match status {
                $($name => Some($text),)+
                _ => None,
            }
        }
    };
}

statuses! {
    GOOD = 0x00, "GOOD";
    CHECK_CONDITION = 0x02, "CHECK CONDITION";
    CONDITION_MET = 0x04, "CONDITION MET";
    BUSY = 0x08, "BUSY";
    RESERVATION_CONFLICT = 0x18, "RESERVATION CONFLICT";
    TASK_SET_FULL = 0x28, "TASK SET FULL";
    ACA_ACTIVE = 0x30, "ACA ACTIVE";
    TASK_ABORTED = 0x40, "TASK ABORTED";
}

//! What both sides of a connection negotiate by keys (RFC 7143, "Login/Text Operational Text
//! Keys").

use std::fmt::Display;

use diskarm_wire::iscsi::text;

use super::frame::Digests;

/// The longest data of a message that the target takes, in bytes.
pub const MAX_RECEIVE: usize = 128 << 10;
/// How many connections a session may have.
pub const MAX_CONNECTIONS: u16 = 4;
/// The longest sequence of data, in bytes.
const MAX_BURST: u32 = 1 << 20;
/// The longest unsolicited data of a command, in bytes.
const FIRST_BURST: u32 = 256 << 10;

/// What holds for a connection and its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Which parts of messages of the connection have digests.
    pub digests: Digests,
    /// How many connections the session may have.
    pub max_connections: u16,
    /// The initiator sends no data beyond immediate ones unless asked.
    pub initial_r2t: bool,
    /// Commands may come with data.
    pub immediate_data: bool,
    /// The longest data of a message of the connection that the initiator takes, in bytes.
    pub max_send: u32,
    /// The longest sequence of data, in bytes.
    pub max_burst: u32,
    /// The longest unsolicited data of a command, in bytes.
    pub first_burst: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            digests: Digests::default(),
            max_connections: 1,
            initial_r2t: true,
            immediate_data: true,
            max_send: 8192,
            max_burst: 262_144,
            first_burst: 65_536,
        }
    }
}

/// What the target says to a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    Value(String),
    /// Nothing: the initiator only tells.
    Silence,
}

impl Parameters {
    /// Takes what the initiator proposes. Keys of a session mean nothing in one for discovery or in
    /// one that is joined; `is_of_commands` says that it is neither.
    pub fn negotiate(&mut self, key: &str, value: &str, is_of_commands: bool) -> Answer {
        if !is_of_commands && IRRELEVANT.contains(&key) {
            return said(text::IRRELEVANT);
        }
        match key {
            "HeaderDigest" => self.digest(value, |digests| &mut digests.header),
            "DataDigest" => self.digest(value, |digests| &mut digests.data),
            "MaxRecvDataSegmentLength" => match number(value, 512, (1 << 24) - 1) {
                Some(length) => {
                    self.max_send = length;
                    Answer::Silence
                }
                None => said(text::REJECT),
            },
            "MaxBurstLength" => length(value, MAX_BURST, &mut self.max_burst),
            "FirstBurstLength" => length(value, FIRST_BURST, &mut self.first_burst),
            "InitialR2T" => boolean(value, |yes| {
                self.initial_r2t = yes;
                yes
            }),
            "ImmediateData" => boolean(value, |yes| {
                self.immediate_data = yes;
                yes
            }),
            "DataPDUInOrder" | "DataSequenceInOrder" => boolean(value, |_| true),
            "MaxConnections" => within(value, 1, 65_535, |max| {
                self.max_connections = MAX_CONNECTIONS.min(max as u16);
                self.max_connections.into()
            }),
            "MaxOutstandingR2T" => within(value, 1, 65_535, |_| 1),
            "DefaultTime2Wait" => within(value, 0, 3600, |seconds| seconds.max(2)),
            "DefaultTime2Retain" => within(value, 0, 3600, |_| 0),
            "ErrorRecoveryLevel" => within(value, 0, 2, |_| 0),
            "iSCSIProtocolLevel" => within(value, 0, 31, |level| level.min(1)),
            "TaskReporting" => one_of(value, &["RFC3720"]),
            "IFMarker" | "OFMarker" => boolean(value, |_| false),
            "IFMarkInt" | "OFMarkInt" => said(text::IRRELEVANT),
            _ => said(text::NOT_UNDERSTOOD),
        }
    }

    /// The same for a connection that joins a session with these.
    pub fn joining(self, session: Self) -> Self {
        Self {
            digests: self.digests,
            max_send: self.max_send,
            ..session
        }
    }

    /// After all keys: what one of them says of another.
    pub fn settle(&mut self) {
        self.first_burst = self.first_burst.min(self.max_burst);
    }

    fn digest(&mut self, value: &str, which: fn(&mut Digests) -> &mut bool) -> Answer {
        let answer = one_of(value, &["None", "CRC32C"]);
        *which(&mut self.digests) = answer == said("CRC32C");
        answer
    }
}

/// Keys that mean something only in the first login of a session with commands.
const IRRELEVANT: [&str; 8] = [
    "MaxConnections",
    "InitialR2T",
    "ImmediateData",
    "MaxBurstLength",
    "FirstBurstLength",
    "MaxOutstandingR2T",
    "DataPDUInOrder",
    "DataSequenceInOrder",
];

fn said(value: impl Display) -> Answer {
    Answer::Value(value.to_string())
}

/// The first of the initiator's values that the target knows.
pub fn one_of(value: &str, known: &[&str]) -> Answer {
    let found = value.split(',').find(|value| known.contains(value));
    said(found.unwrap_or(text::REJECT))
}

fn number(value: &str, min: u32, max: u32) -> Option<u32> {
    text::number(value).filter(|number| (min..=max).contains(number))
}

fn within(value: &str, min: u32, max: u32, answer: impl FnOnce(u32) -> u32) -> Answer {
    match number(value, min, max) {
        Some(number) => said(answer(number)),
        None => said(text::REJECT),
    }
}

/// The smaller of both lengths holds.
fn length(value: &str, own: u32, held: &mut u32) -> Answer {
    match number(value, 512, (1 << 24) - 1) {
        Some(number) => {
            *held = number.min(own);
            said(*held)
        }
        None => said(text::REJECT),
    }
}

fn boolean(value: &str, answer: impl FnOnce(bool) -> bool) -> Answer {
    let found = match value {
        "Yes" => answer(true),
        "No" => answer(false),
        _ => return said(text::REJECT),
    };
    said(if found { "Yes" } else { "No" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each key with a proposal, and what RFC 7143 makes of it and the target's own value.
    #[test]
    fn keys_are_negotiated_by_their_rules() {
        let mut parameters = Parameters::default();
        let cases = [
            ("HeaderDigest", "CRC32C,None", "CRC32C"),
            ("DataDigest", "X-other,None,CRC32C", "None"),
            ("DataDigest", "X-other", "Reject"),
            ("MaxConnections", "8", "4"),
            ("MaxConnections", "0", "Reject"),
            ("InitialR2T", "No", "No"),
            ("ImmediateData", "maybe", "Reject"),
            ("MaxBurstLength", "16776192", "1048576"),
            ("FirstBurstLength", "0x800", "2048"),
            ("FirstBurstLength", "511", "Reject"),
            ("DefaultTime2Wait", "0", "2"),
            ("DefaultTime2Retain", "20", "0"),
            ("MaxOutstandingR2T", "16", "1"),
            ("DataPDUInOrder", "No", "Yes"),
            ("DataSequenceInOrder", "No", "Yes"),
            ("ErrorRecoveryLevel", "2", "0"),
            ("OFMarker", "Yes", "No"),
            ("OFMarkInt", "2048~8192", "Irrelevant"),
            ("iSCSIProtocolLevel", "2", "1"),
            ("TaskReporting", "FastAbort,RFC3720", "RFC3720"),
            ("X-com.example.color", "red", "NotUnderstood"),
        ];
        for (key, value, expected) in cases {
            assert_eq!(
                parameters.negotiate(key, value, true),
                said(expected),
                "{key}"
            );
        }
        let key = "MaxRecvDataSegmentLength";
        assert_eq!(parameters.negotiate(key, "65536", true), Answer::Silence);
        assert_eq!(parameters.negotiate(key, "16777216", true), said("Reject"));
        let expected = Parameters {
            digests: Digests {
                header: true,
                data: false,
            },
            max_connections: 4,
            initial_r2t: false,
            immediate_data: true,
            max_send: 65_536,
            max_burst: 1 << 20,
            first_burst: 2048,
        };
        assert_eq!(parameters, expected);
        parameters.negotiate("MaxBurstLength", "1024", true);
        parameters.settle();
        assert_eq!(parameters.first_burst, 1024);
        let key = "MaxBurstLength";
        assert_eq!(parameters.negotiate(key, "512", false), said("Irrelevant"));
    }
}

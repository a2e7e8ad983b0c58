//! Names of targets, and the negotiation of the parameters of connections and sessions (RFC 7143,
//! "Login/Text Operational Text Keys").

use std::fmt::Display;

use diskarm_wire::iscsi::text;

use super::frame::Digests;

/// The number of the only portal group.
pub const PORTAL_GROUP: u16 = 1;

/// Maximum number of unanswered commands of a session.
pub const WINDOW: u32 = 64;

/// Maximum length of a name (RFC 7143, "iSCSI Names"), in bytes.
pub const MAX_NAME: usize = 223;

/// The name of the default target, and the prefix of all others. RFC 2606 reserves `example.com`.
pub const TARGET: &str = "iqn.2026-01.com.example.diskarm";

pub fn target_name(name: &str) -> String {
    match name {
        "" => TARGET.to_owned(),
        name => format!("{TARGET}:{name}"),
    }
}

/// Returns true if `name` can be part of a target name (RFC 7143, "iSCSI Name Encoding").
pub fn is_target_name(name: &str) -> bool {
    let is_name_byte =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:".contains(&byte);
    name.bytes().all(is_name_byte) && target_name(name).len() <= MAX_NAME
}

/// Maximum data length of a message to the target, in bytes.
pub const MAX_RECEIVE: usize = 128 << 10;
pub const MAX_CONNECTIONS: u16 = 4;
/// Maximum length of a data sequence, in bytes.
const MAX_BURST: u32 = 1 << 20;
/// Maximum amount of unsolicited data for a command, in bytes.
const FIRST_BURST: u32 = 256 << 10;

/// The negotiated parameters of a connection and its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The digests in the connection's messages.
    pub digests: Digests,
    pub max_connections: u16,
    /// True if the initiator sends only immediate data until the target requests more.
    pub initial_r2t: bool,
    /// True if commands may carry data.
    pub immediate_data: bool,
    /// Maximum data length of a message to the initiator on this connection, in bytes.
    pub max_send: u32,
    /// Maximum length of a data sequence, in bytes.
    pub max_burst: u32,
    /// Maximum amount of unsolicited data for a command, in bytes.
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

/// The target's answer to a key; `None` for a declaration, which needs no answer.
type Answer = Option<String>;

impl Parameters {
    /// Negotiates a key that the initiator proposes. Some keys are irrelevant in discovery sessions
    /// and in connections that join a session; `starts_session` is false for both.
    pub fn negotiate(&mut self, key: &str, value: &str, starts_session: bool) -> Answer {
        if !starts_session && IRRELEVANT.contains(&key) {
            return answer(text::IRRELEVANT);
        }
        match key {
            "HeaderDigest" => self.digest(value, |digests| &mut digests.header),
            "DataDigest" => self.digest(value, |digests| &mut digests.data),
            "MaxRecvDataSegmentLength" => match number(value, 512, (1 << 24) - 1) {
                Some(length) => {
                    self.max_send = length;
                    None
                }
                None => answer(text::REJECT),
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
            "MaxConnections" => in_range(value, 1, 65_535, |max| {
                self.max_connections = MAX_CONNECTIONS.min(max as u16);
                self.max_connections.into()
            }),
            "MaxOutstandingR2T" => in_range(value, 1, 65_535, |_| 1),
            "DefaultTime2Wait" => in_range(value, 0, 3600, |seconds| seconds.max(2)),
            "DefaultTime2Retain" => in_range(value, 0, 3600, |_| 0),
            "ErrorRecoveryLevel" => in_range(value, 0, 2, |_| 0),
            "iSCSIProtocolLevel" => in_range(value, 0, 31, |level| level.min(1)),
            "TaskReporting" => one_of(value, &["RFC3720"]),
            "IFMarker" | "OFMarker" => boolean(value, |_| false),
            "IFMarkInt" | "OFMarkInt" => answer(text::IRRELEVANT),
            _ => answer(text::NOT_UNDERSTOOD),
        }
    }

    /// Returns the parameters of a connection that joins a session with the parameters `session`.
    pub fn with_session(self, session: Self) -> Self {
        Self {
            digests: self.digests,
            max_send: self.max_send,
            ..session
        }
    }

    /// Applies the constraints between keys once all keys have been negotiated.
    pub fn settle(&mut self) {
        self.first_burst = self.first_burst.min(self.max_burst);
    }

    fn digest(&mut self, value: &str, which: fn(&mut Digests) -> &mut bool) -> Answer {
        let choice = one_of(value, &["None", "CRC32C"]);
        *which(&mut self.digests) = choice == answer("CRC32C");
        choice
    }
}

/// Keys that are relevant only in the first login of a normal session.
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

fn answer(value: impl Display) -> Answer {
    Some(value.to_string())
}

/// Chooses the first of the initiator's values that the target supports.
pub fn one_of(value: &str, known: &[&str]) -> Answer {
    let found = value.split(',').find(|value| known.contains(value));
    answer(found.unwrap_or(text::REJECT))
}

fn number(value: &str, min: u32, max: u32) -> Option<u32> {
    text::number(value).filter(|number| (min..=max).contains(number))
}

fn in_range(value: &str, min: u32, max: u32, choose: impl FnOnce(u32) -> u32) -> Answer {
    match number(value, min, max) {
        Some(number) => answer(choose(number)),
        None => answer(text::REJECT),
    }
}

/// Chooses the smaller of the initiator's and the target's maximum.
fn length(value: &str, limit: u32, chosen: &mut u32) -> Answer {
    match number(value, 512, (1 << 24) - 1) {
        Some(number) => {
            *chosen = number.min(limit);
            answer(*chosen)
        }
        None => answer(text::REJECT),
    }
}

fn boolean(value: &str, choose: impl FnOnce(bool) -> bool) -> Answer {
    let found = match value {
        "Yes" => choose(true),
        "No" => choose(false),
        _ => return answer(text::REJECT),
    };
    answer(if found { "Yes" } else { "No" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each case has a key, a proposal, and the result that RFC 7143 specifies for the target's
    /// value.
    #[test]
    fn keys_follow_their_negotiation_rules() {
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
            ("MaxRecvDataSegmentLength", "16777216", "Reject"),
        ];
        for (key, value, expected) in cases {
            let found = parameters.negotiate(key, value, true);
            assert_eq!(found, answer(expected), "{key}");
        }
        let declared = parameters.negotiate("MaxRecvDataSegmentLength", "65536", true);
        assert_eq!(declared, None);
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
        let found = parameters.negotiate("MaxBurstLength", "512", false);
        assert_eq!(found, answer("Irrelevant"));
    }
}

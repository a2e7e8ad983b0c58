//! Discovery sessions: initiators ask which targets there are.

use diskarm_wire::iscsi::text::{self, Writer};
use diskarm_wire::iscsi::{
    LogoutResponse, Lun, Message, NopIn, Serial, Tag, TextRequest, TextResponse, logout_response,
};

use super::frame::{Digests, Frame};
use super::keys::Parameters;
use super::{PORTAL_GROUP, WINDOW, target_name};
use crate::export::Facts;

pub struct Discovery {
    parameters: Parameters,
    status: Serial,
    /// The number of the next command.
    expected: Serial,
    /// What is left of an answer that does not fit into one message.
    rest: Vec<u8>,
}

/// Names an answer that continues.
const GOES_ON: Tag = Tag(1);

impl Discovery {
    /// A session as the login has agreed.
    pub const fn new(parameters: Parameters, status: Serial, expected: Serial) -> Self {
        Self {
            parameters,
            status,
            expected,
            rest: Vec::new(),
        }
    }

    /// Which parts of messages have digests.
    pub const fn digests(&self) -> Digests {
        self.parameters.digests
    }

    /// Answers a message into `output`; returns whether the session is over.
    pub fn answer(
        &mut self,
        frame: &Frame<'_>,
        address: &str,
        exports: &[Facts],
        output: &mut Vec<u8>,
    ) -> bool {
        let mut is_over = false;
        let (message, data) = match Message::parse(&frame.header) {
            Ok(Message::TextRequest(request)) => {
                self.count(request.immediate);
                if request.transfer == Tag::NONE {
                    self.rest = targets(frame.data, address, exports);
                }
                self.text(&request)
            }
            Ok(Message::NopOut(request)) => {
                if request.tag == Tag::NONE {
                    return false;
                }
                self.count(request.immediate);
                let answer = NopIn {
                    lun: request.lun,
                    tag: request.tag,
                    transfer: Tag::NONE,
                    status: self.status,
                    expected_command: self.expected,
                    max_command: self.max(),
                };
                let length = frame.data.len().min(self.parameters.max_send as usize);
                (Message::NopIn(answer), frame.data[..length].to_vec())
            }
            Ok(Message::LogoutRequest(request)) => {
                self.count(request.immediate);
                is_over = true;
                let answer = LogoutResponse {
                    response: logout_response::CLOSED,
                    tag: request.tag,
                    status: self.status,
                    expected_command: self.expected,
                    max_command: self.max(),
                    wait_s: 0,
                    retain_s: 0,
                };
                (Message::LogoutResponse(answer), Vec::new())
            }
            // Nothing else belongs in a discovery session.
            _ => return true,
        };
        self.status = self.status.next();
        let digests = self.digests();
        let before = output.len();
        output.resize(before + digests.length(data.len()), 0);
        digests.emit(&message, &data, &mut output[before..]);
        is_over
    }

    fn count(&mut self, is_immediate: bool) {
        if !is_immediate {
            self.expected = self.expected.next();
        }
    }

    fn max(&self) -> Serial {
        self.expected.plus(WINDOW - 1)
    }

    /// The next part of the answer.
    fn text(&mut self, request: &TextRequest) -> (Message, Vec<u8>) {
        let length = self.rest.len().min(self.parameters.max_send as usize);
        let rest = self.rest.split_off(length);
        let data = std::mem::replace(&mut self.rest, rest);
        let is_final = self.rest.is_empty();
        let answer = TextResponse {
            is_final,
            continues: !is_final,
            lun: Lun(0),
            tag: request.tag,
            transfer: if is_final { Tag::NONE } else { GOES_ON },
            status: self.status,
            expected_command: self.expected,
            max_command: self.max(),
        };
        (Message::TextResponse(answer), data)
    }
}

/// The answer to `SendTargets`: all exports, or the one with a name; other keys are not understood.
pub fn targets(data: &[u8], address: &str, exports: &[Facts]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut say = |key: &str, value: &str| {
        let mut room = vec![0; key.len() + value.len() + 2];
        // There is room for exactly this.
        if Writer::new(&mut room).put(key, value).is_ok() {
            all.extend_from_slice(&room);
        }
    };
    for (key, value) in text::pairs(data).map_while(Result::ok) {
        if key != "SendTargets" {
            say(key, text::NOT_UNDERSTOOD);
            continue;
        }
        let names = exports.iter().map(|facts| target_name(&facts.name));
        for name in names.filter(|name| matches!(value, "All" | "") || value == name) {
            say("TargetName", &name);
            if !address.is_empty() {
                say("TargetAddress", &format!("{address},{PORTAL_GROUP}"));
            }
        }
    }
    all
}

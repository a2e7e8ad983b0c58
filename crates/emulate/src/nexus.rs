//! The state that the unit keeps for each initiator.

use std::collections::VecDeque;

use diskarm_wire::defect::Translate;
use diskarm_wire::reservation::TransportId;
use diskarm_wire::sense::Code;

/// The initiator port of a session of iSCSI (RFC 7143, "iSCSI Names" and "SSID").
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IscsiPort {
    pub name: String,
    /// The initiator's part of the session's name, in hexadecimal.
    pub session: String,
}

/// The unit's side of an I_T nexus.
#[derive(Clone, Debug)]
pub(crate) struct Nexus {
    pub initiator: u64,
    /// Its name and the identifier of its session, if it comes over iSCSI.
    pub port: Option<IscsiPort>,
    /// The address that it had translated last.
    pub asked: Option<Translate>,
    /// Its connection is lost; only a registration is left.
    pub is_gone: bool,
    /// Unit attentions that have not been reported yet.
    attentions: VecDeque<Code>,
}

impl Nexus {
    /// One that knows nothing of the unit yet.
    pub fn new(initiator: u64) -> Self {
        Self {
            initiator,
            port: None,
            asked: None,
            is_gone: false,
            attentions: VecDeque::from([Code::POWER_ON_OR_RESET]),
        }
    }

    /// The identity in READ FULL STATUS. Initiators without a port are numbers, which are reported
    /// as SAS addresses.
    pub fn transport_id(&self) -> TransportId<'_> {
        match &self.port {
            Some(port) => TransportId::IscsiSession(&port.name, &port.session),
            None => TransportId::Sas(self.initiator),
        }
    }

    /// Establishes a unit attention condition; the same one is not queued twice, and a reset says
    /// all that others would.
    pub fn attention(&mut self, code: Code) {
        if matches!(code, Code::POWER_ON_OR_RESET | Code::DEVICE_RESET) {
            self.attentions.clear();
        }
        if !self.attentions.contains(&code) {
            self.attentions.push_back(code);
        }
    }

    /// Takes the oldest unit attention, which counts as reported.
    pub fn told(&mut self) -> Option<Code> {
        self.attentions.pop_front()
    }
}

//! What obeys commands, whatever its protocol.

use std::io;
use std::time::Instant as Wall;

use super::{Command, Pending, Reply};
use crate::export::Facts;
use crate::figures::Statistics;
use crate::power::{InjectedFault, Losses, PendingWrite, PowerCut, PowerSwitch};

/// An export with a switch.
pub trait PowerControl {
    /// The switch.
    fn switch(&mut self) -> &mut PowerSwitch;

    /// What is served.
    fn facts(&self) -> &Facts;

    /// Whether the power can be cut: something tells when data reach the media.
    fn can_lose(&self) -> bool;

    /// The writes that are not on the media now.
    fn unwritten(&mut self) -> Vec<PendingWrite>;

    /// Takes back what does not survive, and what is under way: it ends without replies. The device
    /// is as it is after it has been switched on.
    ///
    /// # Errors
    /// Those of the store.
    fn lose(&mut self, cut: &PowerCut) -> io::Result<Losses>;

    /// What has been served.
    fn served(&mut self) -> &mut Statistics;

    /// Cuts the power.
    ///
    /// # Errors
    /// Why too much has survived.
    fn cut(&mut self, cut: &PowerCut) -> Result<Reply, String> {
        let lost = self.lose(cut);
        let taken = lost.as_ref().copied().unwrap_or_default();
        self.switch().went_off(taken);
        let lost = lost.map_err(|error| format!("the store failed: {error}"))?;
        Ok(Reply::PowerCut(lost))
    }

    /// Cuts the power if that is due. Returns whether it is off: then all connections have to end.
    fn goes_off(&mut self) -> bool {
        if let Some(cut) = self.switch().take_due(Wall::now()) {
            // If that fails, the next command says so.
            let _ = self.cut(&cut);
        }
        !self.switch().is_on()
    }

    /// Does what the control socket asks for.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn obey(&mut self, command: &Command) -> Result<Reply, String> {
        let needs_power = matches!(
            command,
            Command::PowerCut(_) | Command::Pending | Command::Trigger(_)
        );
        if needs_power && !self.can_lose() {
            return Err(format!(
                "{} does not tell when data reach the media: only the power of a single drive \
                 with nothing in front of it can be cut, not that of an array, a pair or a cache",
                self.facts().description
            ));
        }
        let is_on = self.switch().is_on();
        match command {
            Command::PowerCut(_) | Command::Trigger(_) if !is_on => {
                return Err("the power is off".to_owned());
            }
            Command::PowerCut(cut) => return self.cut(cut),
            Command::PowerRestore if is_on => return Err("the power is on".to_owned()),
            Command::PowerRestore => self.switch().restore(),
            Command::Pending => {
                let pending = self.unwritten();
                return Ok(Reply::Pending(Pending {
                    is_powered: is_on,
                    pending,
                    last_cut: self.switch().lost(),
                }));
            }
            Command::Trigger(strike) => self.switch().arm(*strike, Wall::now()),
            Command::Inject(injected) => {
                is_within(injected, self.facts())?;
                self.switch().injections().inject(*injected);
            }
            Command::Heal { first, end } => self.switch().injections().heal(*first, *end),
            Command::Errors => return Ok(Reply::Errors(self.switch().injections().list())),
            Command::Statistics => return Ok(Reply::Statistics(Box::new(self.served().clone()))),
        }
        Ok(Reply::Done)
    }
}

/// # Errors
/// If some of the sectors that are to fail are not there.
fn is_within(injected: &InjectedFault, facts: &Facts) -> Result<(), String> {
    let (first, end) = (injected.blocks.first.0, injected.blocks.end);
    let sectors = facts.sectors.0;
    let within = |last: u64| last < sectors;
    if within(first) && (end == InjectedFault::ALL || within(end.0 - 1)) {
        return Ok(());
    }
    let last = match end {
        InjectedFault::ALL => String::new(),
        end => format!(" to {}", end.0 - 1),
    };
    Err(format!(
        "inject: found sectors from {first}{last}, expected some of the {sectors} that {} has",
        match facts.name.as_str() {
            "" => "the export",
            name => name,
        }
    ))
}

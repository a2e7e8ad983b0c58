//! A policy on the command line.

use diskarm_core::sched::Choice;

use crate::error::Error;

/// Reads the policy that `flag` names.
pub fn choose(flag: &'static str, text: &str) -> Result<Choice, Error> {
    Choice::parse(text, flag).map_err(|fault| Error::Policy { flag, fault })
}

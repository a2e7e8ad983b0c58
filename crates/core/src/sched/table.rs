//! The table of policies, and the parser of policies by name.

use std::fmt;
use std::str::FromStr;

use super::aspctf_seq::AspctfSeq;
use super::asptf::{Asatf, Aspctf, Asptf};
use super::bsatf::{Bsatf, Lbsatf};
use super::cscan_la::CScanLa;
use super::fcfs::Fcfs;
use super::gstf::Gstf;
use super::hol::Hol;
use super::limited;
use super::look::{CLook, CScan, Look, Scan};
use super::mq_deadline::MqDeadline;
use super::oat::{Oat, OatBatch, OatWindow};
use super::policy::{Estimate, Knowledge, Policy, PolicyInfo, Rule};
use super::saptf::Saptf;
use super::satf_la::SatfLa;
use super::satfdf::SatfDf;
use super::satfgdf::SatfGdf;
use super::satfuf::SatfUf;
use super::sptf::{Satf, Spctf, Sptf};
use super::sptf_cp::SptfCp;
use super::sptf_sw::SptfSw;
use super::sstf::Sstf;
use super::sw_sptf::SwSptf;
use super::vscan::{CvScan, VScan};
use super::wb_sptf::WbSptf;
use super::wscan::WScan;
use super::wstf::Wstf;
use crate::text::{Args, Call, InputError, NO_PARAMETERS};

/// Generates the table of documentation, and the enumeration of policies with its parser, from the
/// list of policies. A new policy needs its file, a `mod` line, an import and its name here.
macro_rules! table {
    ($($rule:ident),+ $(,)?) => {
        /// The documentation of all policies.
        pub const INFOS: &[PolicyInfo] = &[$(<$rule as Rule>::INFO),+];

        #[derive(Clone, Debug, PartialEq)]
        enum TablePolicy {
            $($rule($rule)),+
        }

        impl TablePolicy {
            /// Returns the documentation of the policy `name`, and its parser.
            fn entry(name: &str) -> Option<(&'static PolicyInfo, Read)> {
                $(
                    if name == <$rule as Rule>::INFO.name {
                        let read: Read = |args| <$rule as Rule>::read(args).map(Self::$rule);
                        return Some((&<$rule as Rule>::INFO, read));
                    }
                )+
                None
            }

            fn info(&self) -> &'static PolicyInfo {
                match self {
                    $(Self::$rule(_) => &<$rule as Rule>::INFO),+
                }
            }

            fn knowledge(&self) -> Knowledge {
                match self {
                    $(Self::$rule(rule) => Rule::knowledge(rule)),+
                }
            }

            fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
                match self {
                    $(Self::$rule(rule) => Rule::policy(rule, drive)),+
                }
            }
        }
    };
}

type Limited = limited::Limited<PolicyConfig>;

table![
    Fcfs, Sstf, Scan, Look, CScan, CLook, VScan, CvScan, WScan, CScanLa, Sptf, Satf, SptfSw, Asptf,
    Asatf, Wstf, Saptf, Spctf, Aspctf, AspctfSeq, SatfUf, SatfDf, SatfGdf, Gstf, Bsatf, Lbsatf,
    SwSptf, WbSptf, SatfLa, Hol, SptfCp, Oat, OatBatch, OatWindow, Limited, MqDeadline,
];

type Read = fn(&mut Args<'_>) -> Result<TablePolicy, InputError>;

/// A policy with its parameters. Displays as it was written.
#[derive(Clone, Debug)]
pub struct PolicyConfig {
    text: String,
    parsed: TablePolicy,
}

impl PolicyConfig {
    /// Parses a policy, such as `sptf` or `vscan(r=0.2, by=map)`. Papers write `VSCAN(0.2)`, so
    /// values without keys are those of the first parameters, and names may be in upper case.
    ///
    /// # Errors
    /// If a name is unknown or a value is invalid; an unknown policy is reported for `field`.
    pub fn parse(text: &str, field: &str) -> Result<Self, InputError> {
        let name = Call::name_of(text);
        let lowercase = name.to_ascii_lowercase();
        let (info, read) = TablePolicy::entry(&lowercase).ok_or_else(|| unknown(field, name))?;
        let text = text.replacen(name, &lowercase, 1);
        let defaults = info.parameters.iter().map(|(default, _)| *default);
        let keys = defaults.filter_map(|default| Some(default.split_once('=')?.0));
        let call = Call::read_in_order(&text, field, &keys.collect::<Vec<_>>())
            .map_err(|error| add_example(error, info))?;
        let mut args = Args::new(&call, ());
        let parsed = read(&mut args)?;
        args.finish()?;
        Ok(Self {
            text: text.trim().to_owned(),
            parsed,
        })
    }

    /// Returns the documentation of the policy.
    pub fn info(&self) -> &'static PolicyInfo {
        self.parsed.info()
    }

    /// Returns the knowledge needed with these parameters; never [`Knowledge::Inner`].
    pub fn knowledge(&self) -> Knowledge {
        self.parsed.knowledge()
    }

    /// Creates the policy for `drive`, with nothing pending.
    pub fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        self.parsed.policy(drive)
    }
}

/// Returns an error that suggests the nearest policy and lists all policies.
fn unknown(field: &str, found: &str) -> InputError {
    let names: Vec<&str> = INFOS.iter().map(|info| info.name).collect();
    InputError::one_of(field, found, &names)
}

/// Adds an example of the syntax if a parameter of `info` lacks its name.
fn add_example(mut error: InputError, info: &PolicyInfo) -> InputError {
    if error.field == info.name {
        match info.parameters.first() {
            Some((written, _)) => error.expected += &format!(", such as {written}"),
            None => error.expected = NO_PARAMETERS.to_owned(),
        }
    }
    error
}

/// Parses a field called `policy`.
impl FromStr for PolicyConfig {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        Self::parse(text, "policy")
    }
}

impl limited::Config for PolicyConfig {
    fn parse(text: &str, field: &str) -> Result<Self, InputError> {
        Self::parse(text, field)
    }

    fn knowledge(&self) -> Knowledge {
        self.knowledge()
    }

    fn policy<E: Estimate>(&self, drive: &E) -> Box<dyn Policy<E>> {
        self.policy(drive)
    }
}

impl Default for PolicyConfig {
    /// First come, first served.
    fn default() -> Self {
        Self {
            text: Fcfs::INFO.name.to_owned(),
            parsed: TablePolicy::Fcfs(Fcfs),
        }
    }
}

/// Configurations of the same policy with the same parameters are equal, however they are written.
impl PartialEq for PolicyConfig {
    fn eq(&self, other: &Self) -> bool {
        self.parsed == other.parsed
    }
}

impl fmt::Display for PolicyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<PolicyConfig, String> {
        PolicyConfig::parse(text, "--policy").map_err(|error| error.to_string())
    }

    #[test]
    fn unknown_names_are_reported_with_known_ones() {
        let error = |text| read(text).expect_err(text);
        for (written, near) in [
            ("spft", "sptf"),
            ("C-LOOK", "clook"),
            ("V-SCAN(0.2)", "vscan"),
        ] {
            let name = Call::name_of(written);
            let begin = format!("--policy: found \"{name}\", expected \"{near}\" or one of fcfs, ");
            assert!(error(written).starts_with(&begin), "{}", error(written));
        }
        // Only ASCII letters are folded: this K is the kelvin sign.
        assert!(error("loo\u{212a}").starts_with("--policy: found \"loo\u{212a}\""));
        let no_parameters = "expected only the name, without parameters";
        assert_eq!(
            error("fcfs(w=6)"),
            format!("fcfs: found \"w\", {no_parameters}")
        );
        assert_eq!(
            error("sptf(1)"),
            format!("sptf: found \"1\", {no_parameters}")
        );
        let found = "vscan: found \"0.2\" after \"by=map\"";
        let expected = "expected parameters as key=value, such as r=0.2";
        assert_eq!(error("vscan(by=map, 0.2)"), format!("{found}, {expected}"));
    }

    #[test]
    fn spellings_of_papers_are_recognised() {
        let limited = "limited(wait=2 s, policy=vscan(r=0.1))";
        for (written, normal) in [
            ("SPTF", "sptf"),
            ("VSCAN(0.2)", "vscan(r=0.2)"),
            ("vscan(0.2)", "vscan(r=0.2)"),
            ("vscan(0.2, by=map)", "vscan(r=0.2, by=map)"),
            ("asptf(6)", "asptf(w=6)"),
            ("limited(2 s, vscan(r=0.1))", limited),
        ] {
            assert_eq!(read(written).expect(written), read(normal).expect(normal));
        }
        // Names are printed in lower case.
        let capital = read("mq-deadliNe(reads=500 ms, batch=1)").expect("a policy");
        assert_eq!(capital.to_string(), "mq-deadline(reads=500 ms, batch=1)");
    }

    #[test]
    fn names_are_unique_and_examples_are_valid() {
        for (at, info) in INFOS.iter().enumerate() {
            assert!(INFOS[..at].iter().all(|other| other.name != info.name));
            let example = read(info.example).expect(info.example);
            assert_eq!(example.info().name, info.name);
        }
    }
}

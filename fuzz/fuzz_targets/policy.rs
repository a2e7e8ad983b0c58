//! Any text is a policy or an error of one line; a policy is printed as it was written, except for
//! capitals in its name, and round-trips.

#![no_main]

use diskarm_core::sched::PolicyConfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match PolicyConfig::parse(text, "policy") {
        Ok(policy) => {
            let printed = policy.to_string();
            let text = text.trim();
            let (name, rest) = text.split_at(text.find('(').unwrap_or(text.len()));
            assert_eq!(printed, name.to_ascii_lowercase() + rest);
            let again = PolicyConfig::parse(&printed, "policy").expect("a policy");
            assert_eq!(again, policy);
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
    }
});

//! Tests of help texts, which are generated from the tables and must be complete.

use std::collections::BTreeSet;

use crate::{assert_narrow, assert_within, json, stdout};
use diskarm_core::sched::INFOS;
use diskarm_core::workload::{Arrivals, Places, Sizes};
use diskarm_drives::CATALOGUE;
use diskarm_trace::FORMATS;

#[test]
fn simulate_lists_every_drive_format_and_generator() {
    let help = stdout(&["simulate", "--help"]);
    assert_narrow(&help);
    for entry in FORMATS {
        assert!(help.contains(entry.info.name) && help.contains(entry.info.summary));
    }
    let generators = Arrivals::infos().chain(Places::INFOS).chain(Sizes::INFOS);
    for info in generators {
        assert!(help.contains(&format!("- {}: {}", info.name, info.summary)));
    }
    // Names must not be broken at hyphens, or this would not find them.
    for entry in CATALOGUE {
        assert!(help.contains(entry.name), "{}", entry.name);
    }
}

#[test]
fn policies_are_listed_with_their_parameters() {
    let list = stdout(&["policies"]);
    assert_narrow(&list);
    for info in INFOS {
        assert!(list.contains(info.name) && list.contains(info.origin));
        for (written, _) in info.parameters {
            assert!(list.contains(written), "{written}");
        }
    }
    let one = json(&["policies", "SPTF", "--json"]);
    let all = json(&["policies", "--json"]);
    let of_all = all.as_array().expect("a list").iter();
    let named: Vec<_> = of_all.filter(|row| row["name"] == "sptf").collect();
    assert_eq!(
        one.as_array().expect("a list").iter().collect::<Vec<_>>(),
        named
    );
    assert_eq!(named.len(), 1);
}

#[test]
fn every_command_has_json_and_a_line_in_the_list() {
    let help = stdout(&["--help"]);
    for command in ["drives", "policies", "simulate", "trace", "validate"] {
        assert!(help.contains(command));
    }
    for command in [
        &["drives"][..],
        &["drives", "show"],
        &["policies"],
        &["declustering"],
        &["extract"],
        &["queueing"],
        &["scan"],
        &["simulate"],
        &["trace", "info"],
        &["trace", "head"],
        &["trace", "convert"],
        &["validate"],
    ] {
        let help = stdout(&[command, &["--help"]].concat());
        assert_narrow(&help);
        assert!(help.contains("--json"), "{command:?}");
    }
}

/// Returns the commands in the table of contents, such as `trace info`.
fn contents() -> BTreeSet<String> {
    let help = stdout(&["--help"]);
    let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
    let lines = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names = lines.map(|line| line.split_once("  ").expect("a description").0.to_owned());
    names.collect()
}

/// Manual pages are generated from the definitions of the commands, so even a command that is
/// missing from the table of contents has a page.
#[test]
fn the_contents_list_every_command_in_the_manual() {
    let folder = std::env::temp_dir().join(format!("diskarm-{}-man", std::process::id()));
    let path = folder.to_str().unwrap();
    stdout(&["man", path]);
    let mut pages = BTreeSet::new();
    for page in std::fs::read_dir(&folder).unwrap() {
        let page = page.unwrap();
        let text = std::fs::read_to_string(page.path()).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"));
        let name = page.file_name().into_string().unwrap();
        let name = name.strip_suffix(".1").expect("a page of section 1");
        pages.insert(
            name.replacen("diskarm", "", 1)
                .replace('-', " ")
                .trim()
                .to_owned(),
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let contents = contents();
    let above = |page: &String| contents.iter().any(|c| c.starts_with(&format!("{page} ")));
    // `serve ctl` has subcommands.
    let below = |page: &String| page.starts_with("serve ctl ");
    for page in &pages {
        assert!(
            contents.contains(page) || page.is_empty() || above(page) || below(page),
            "{page}"
        );
    }
    for command in &contents {
        assert!(pages.contains(command), "{command}");
    }
    assert!(contents.contains("study run") && contents.contains("drives"));
}

#[test]
fn contents_fit_a_terminal_of_80_columns_and_point_onward() {
    for flag in ["-h", "--help"] {
        let help = stdout(&[flag]);
        assert_within(&help, 80);
        assert!(help.contains("diskarm study list") && help.contains("docs/"));
        assert!(!help.contains("\n\n\n"), "two empty lines");
    }
}

#[test]
fn without_arguments_the_program_prints_its_help() {
    assert_eq!(stdout(&[]), stdout(&["--help"]));
}

#[test]
fn the_word_list_is_optional() {
    for command in ["drives", "policies", "devices"] {
        let list = stdout(&[command]);
        assert_eq!(stdout(&[command, "list"]), list);
        let json = stdout(&[command, "--json"]);
        assert_eq!(stdout(&[command, "list", "--json"]), json);
        let help = stdout(&["--help"]);
        assert!(!help.contains(&format!("{command} list")), "{help}");
    }
}

#[test]
fn help_lists_options_in_the_order_of_use() {
    for (command, policy) in [("simulate", "--policy"), ("compare", "--policies")] {
        let help = stdout(&[command, "-h"]);
        let options = help
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("--"));
        let options = options.map(|option| option.split([' ', '=']).next().unwrap());
        let first: Vec<&str> = options.take(3).collect();
        assert_eq!(first, ["drive", &policy[2..], "set"], "{help}");
    }
}

#[test]
fn completions_include_names() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = stdout(&["completions", shell]);
        let is_known =
            |name: &str| text.contains(name) || ["elvish", "powershell"].contains(&shell);
        for entry in CATALOGUE {
            assert!(is_known(entry.name), "{shell}: {}", entry.name);
        }
        assert!(INFOS.iter().all(|info| is_known(info.name)), "{shell}");
        assert!(is_known("worthington94-fig3") || shell == "fish", "{shell}");
    }
    let bash = stdout(&["completions", "bash"]);
    assert!(bash.contains("compgen -f -W \"dec-rz26 "), "files too");
}

#[test]
fn completions_include_every_command_in_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = stdout(&["completions", shell]);
        for command in contents() {
            let last = command.split(' ').next_back().unwrap();
            assert!(text.contains(last), "{shell}: {command}");
        }
        assert!(text.contains("replications"), "{shell}");
    }
}

#[test]
fn the_version_includes_a_digest_of_the_sources() {
    let printed = stdout(&["--version"]);
    let start = concat!("diskarm ", env!("CARGO_PKG_VERSION"), " (sources ");
    let digest = printed
        .strip_prefix(start)
        .and_then(|rest| rest.strip_suffix(")\n"));
    let is_digest = |digest: &str| digest.len() == 16 && u64::from_str_radix(digest, 16).is_ok();
    assert!(digest.is_some_and(is_digest), "{printed}");
}

#[test]
fn colour_is_used_on_terminals_or_on_request() {
    let run = |color: &[&str]| {
        let words = [
            "simulate", "--drive", "nothing", "--random", "--policy", "fcfs",
        ];
        let output = crate::diskarm(&[&words[..], color].concat());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run(&[]).starts_with("error: "));
    assert!(run(&["--color", "never"]).starts_with("error: "));
    assert!(run(&["--color", "always"]).starts_with("\u{1b}[1;31merror:\u{1b}[0m --drive: "));
}

#[test]
fn a_policy_or_device_can_be_listed_alone() {
    let policy = stdout(&["policies", "SPTF"]);
    assert!(
        policy.contains("\nsptf  ") && !policy.contains("\nfcfs  "),
        "{policy}"
    );
    let device = stdout(&["devices", "raid5"]);
    assert!(
        device.starts_with("raid5\n") && !device.contains("\nmirror\n"),
        "{device}"
    );
    let all = stdout(&["devices"]);
    assert!(all.contains(&device), "{device}");
}

/// Examples can be copied: they are separate lines, with a backslash where they continue.
#[test]
fn examples_keep_their_lines_in_help_and_manual() {
    let folder = std::env::temp_dir().join(format!("diskarm-{}-examples", std::process::id()));
    stdout(&["man", folder.to_str().unwrap()]);
    for (command, example) in [
        (
            &["drives", "new"][..],
            "\n  diskarm drives new --capacity 8TB --rpm 7200 --seek 8.5ms --outer \
             250MB/s \\\n      \
             --inner 110MB/s",
        ),
        (
            &["scan"],
            "\n  diskarm scan sim:quantum-atlas-10k \\\n      --set mechanics.",
        ),
        (
            &["extract"],
            "\n  diskarm extract --compare hp-c2247 found.toml\n",
        ),
    ] {
        let help = stdout(&[command, &["--help"]].concat());
        assert!(help.contains(example), "{help}");
        let page = folder.join(format!("diskarm-{}.1", command.join("-")));
        let page = std::fs::read_to_string(page).unwrap();
        let (_, notes) = page.split_once("\n.SH NOTES\n.nf\n").expect("notes");
        let (notes, _) = notes.split_once("\n.fi\n").expect("their end");
        let words = example.replace('\\', "\\\\").replace('-', "\\-");
        assert!(notes.contains(words.trim_end()), "{notes}");
    }
    let page = std::fs::read_to_string(folder.join("diskarm-scan.1")).unwrap();
    assert!(
        page.contains("\n.SH ARGUMENTS\n.TP\n<\\fIURL\\fR>\n"),
        "{page}"
    );
    assert!(page.contains("\n.br\n\\- sim:DRIVE: "), "{page}");
    std::fs::remove_dir_all(&folder).unwrap();
}

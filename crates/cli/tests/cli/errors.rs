//! Invalid input: exit code 2 and one line with the location, what was found and what was expected.

use crate::{diskarm, file_of};

/// Returns the error for these arguments, without `error: ` and the newline.
pub fn error(arguments: &[&str]) -> String {
    let output = diskarm(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(output.stdout.is_empty());
    let line = text
        .strip_prefix("error: ")
        .and_then(|rest| rest.strip_suffix('\n'));
    let line = line.unwrap_or_else(|| panic!("no error line: {text:?}"));
    assert!(!line.contains('\n'), "{text:?}");
    line.to_owned()
}

/// Like [`error`], for `simulate` with random requests, FCFS, and these options.
fn random(flags: &[&str]) -> String {
    let fixed = [
        "simulate", "--drive", "hp-c2247", "--random", "--policy", "fcfs",
    ];
    error(&[&fixed, flags].concat())
}

/// Like [`error`], for `simulate` with a trace with these contents.
fn trace(name: &str, text: &str, flags: &[&str]) -> (String, String) {
    let path = file_of(name, text);
    let fixed = [
        "simulate", "--drive", "hp-c2247", "--policy", "fcfs", "--trace", &path,
    ];
    let message = error(&[&fixed, flags].concat());
    std::fs::remove_file(&path).unwrap();
    (path, message)
}

#[test]
fn the_number_of_disks_needs_a_fit_that_uses_it() {
    let text = "0.25 0 1200 8 1\n1.5 0 90 16 0\n";
    let flags = ["--fit", "fold", "--disks", "3"];
    let (_, message) = trace("disks-unused", text, &flags);
    let expected = "`--disks` needs `--fit spread`";
    assert_eq!(message, expected);
}

#[test]
fn flags_with_invalid_values() {
    let size = "expected 1 to 65536 sectors of 512 bytes, with a unit, such as \"8 KiB\"";
    for found in ["8", "8GiB", "0 KiB", "100 B"] {
        assert_eq!(
            random(&["--size", found]),
            format!("--size: found {found:?}, {size}")
        );
        assert_eq!(
            random(&["--merge", found]),
            format!("--merge: found {found:?}, {size}")
        );
    }
    assert_eq!(
        random(&["--warmup", "7", "--requests", "7"]),
        "--warmup: found \"7\", expected less than 7, the value of --requests"
    );
    assert_eq!(
        random(&["--warmup", "100000"]),
        "--warmup: found \"100000\", expected less than 100000, the default of --requests"
    );
    assert_eq!(
        random(&["--requests", "10000000000000", "--rate", "1/s"]),
        "--requests: found \"10000000000000\", expected less than 146 years of requests at 1000 ms \
         each"
    );
    assert_eq!(
        random(&["--rate", "3/x"]),
        "--rate: found \"3/x\", expected a rate from one per hour to 1000000000/s, such as \"32/s\""
    );
    assert_eq!(
        random(&["--interarrival", "0 ms"]),
        "--interarrival: found \"0 ms\", expected a time above 0, up to an hour, with its unit, \
         such as \"31.2 ms\""
    );
    assert_eq!(
        random(&["--outstanding", "2", "--think", "-5 ms"]),
        "--think: found \"-5 ms\", expected a time from 0 to an hour with its unit, such as \
         \"5 ms\""
    );
    assert_eq!(
        random(&["--reads", "101 %"]),
        "--reads: found \"101 %\", expected a percentage from 0 % to 100 %, with the % sign, such \
         as \"67 %\""
    );
}

#[test]
fn flags_with_invalid_numbers() {
    for (flag, found, expected) in [
        ("--requests", "1e-6", "of 1 or more"),
        ("--requests", "-1", "of 1 or more"),
        ("--requests", "0", "of 1 or more"),
        (
            "--requests",
            "18446744073709551616",
            "from 1 to 18446744073709551615",
        ),
        ("--seed", "-1", "of 0 or more"),
        ("--warmup", "x", "of 0 or more"),
        ("--warmup", "", "of 0 or more"),
        ("--outstanding", "-3", "from 1 to 10000000"),
        ("--outstanding", "10000001", "from 1 to 10000000"),
    ] {
        let message = format!("{flag}: found {found:?}, expected a whole number {expected}");
        assert_eq!(random(&[flag, found]), message);
    }
    assert_eq!(
        error(&["trace", "head", "any", "-n", "0"]),
        "--requests: found \"0\", expected a whole number from 1 to 4294967295"
    );
    assert_eq!(
        error(&["study", "run", "lumb01-modern", "--jobs", "0"]),
        "--jobs: found \"0\", expected a whole number from 1 to 65535"
    );
    for flag in ["--rate", "--interarrival", "--size", "--reads"] {
        let message = random(&[flag, "-1"]);
        assert!(
            message.starts_with(&format!("{flag}: found \"-1\", expected ")),
            "{message}"
        );
    }
}

#[test]
fn flags_that_exclude_each_other() {
    assert_eq!(
        random(&["--rate", "3/s", "--outstanding", "3"]),
        "`--rate` cannot be combined with `--outstanding`"
    );
    assert_eq!(
        random(&["--think", "5 ms"]),
        "`--think` needs `--outstanding`"
    );
    let fixed = ["simulate", "--drive", "hp-c2247", "--policy", "fcfs"];
    assert_eq!(
        error(&fixed),
        "the following required arguments were not provided: \
         <--trace <FILE>...|--random|--workload <TEXT|FILE>>"
    );
    let both = ["--trace", "x", "--requests", "5"];
    assert_eq!(
        error(&[&fixed[..], &both].concat()),
        "`--requests` needs `--random` or `--workload`: a trace is replayed as a whole"
    );
}

#[test]
fn trace_flags_without_a_trace() {
    for (flag, value) in [
        ("--device", "3"),
        ("--faster", "2"),
        ("--fit", "fold"),
        ("--on-error", "skip"),
        ("--replay", "pauses"),
    ] {
        assert_eq!(random(&[flag, value]), format!("`{flag}` needs `--trace`"));
    }
    let both = ["--replay", "pauses", "--outstanding", "3", "--trace", "x"];
    let fixed = ["simulate", "--drive", "hp-c2247", "--policy", "fcfs"];
    assert_eq!(
        error(&[&fixed[..], &both].concat()),
        "`--replay` cannot be combined with `--outstanding`"
    );
}

#[test]
fn unknown_names() {
    assert_eq!(
        error(&["drives", "show", "c2247"]),
        "NAME: found \"c2247\", expected a drive in the catalogue (nearest: hp-c2247, \
         hp-c2247-5p, hp-c2247-9p) or a .toml file"
    );
    assert_eq!(
        error(&["simulate", "--drive", "zzz", "--random", "--policy", "fcfs"]),
        "--drive: found \"zzz\", expected a drive in the catalogue (`diskarm drives` lists them) \
         or a .toml file"
    );
    let policy = error(&[
        "simulate", "--drive", "hp-c2247", "--random", "--policy", "spft",
    ]);
    let message = "--policy: found \"spft\", expected \"sptf\" or one of ";
    assert!(policy.starts_with(message), "{policy}");
    assert!(
        policy.contains("fcfs") && policy.contains("sptf"),
        "{policy}"
    );
    let message = "a value is required for '--policy <POLICY>' but none was supplied";
    let none = error(&["simulate", "--drive", "hp-c2247", "--random", "--policy"]);
    assert!(none.starts_with(message), "{none}");
    assert_eq!(
        error(&["trace"]),
        "a subcommand is missing (`diskarm trace --help` lists them)"
    );
    assert_eq!(
        error(&["trace", "head", "x.csv", "--lines", "3"]),
        "unexpected argument '--lines' found"
    );
    assert_eq!(
        error(&["trace", "convert", "a", "b", "--to", "spc", "--device", "x"]),
        "--device: found \"x\", expected a whole number (invalid digit found in string)"
    );
}

/// Like [`error`], for `simulate` with this workload.
fn workload(text: &str) -> String {
    error(&[
        "simulate",
        "--drive",
        "hp-c2247",
        "--policy",
        "fcfs",
        "--workload",
        text,
    ])
}

#[test]
fn invalid_workloads() {
    assert_eq!(
        workload("poison(rate=60/s)"),
        "--workload: arrivals: found \"poison\", expected arrivals, perhaps \"poisson\""
    );
    // The C2247 has 2,054,864 sectors.
    assert_eq!(
        workload("closed(clients=1) local(deviation=2GiB)"),
        "--workload: local.deviation: found \"2GiB\", expected 1 to 2054864 sectors of 512 \
         bytes, with a unit, such as \"8 KiB\""
    );
    let path = file_of(
        "workload.toml",
        "arrivals = \"closed(clients=4)\"\nsize = \"8\"\n",
    );
    let message = workload(&path);
    std::fs::remove_file(&path).unwrap();
    let expected = "size: found \"8\", expected 1 to 65536 sectors";
    assert!(
        message.starts_with(&format!("{path}:2: {expected}")),
        "{message}"
    );
    let message = workload("no-such.toml");
    assert!(
        message.starts_with("no-such.toml: cannot read: "),
        "{message}"
    );
    let fixed = ["simulate", "--drive", "hp-c2247", "--policy", "fcfs"];
    let both = ["--workload", "closed(clients=1)", "--size", "4 KiB"];
    assert_eq!(
        error(&[&fixed[..], &both].concat()),
        "`--size` needs `--random`"
    );
}

#[test]
fn invalid_windows_and_rows() {
    assert_eq!(
        random(&["--window", "0 s"]),
        "--window: found \"0 s\", expected a time above 0, up to an hour, with its unit, such as \
         \"31.2 ms\""
    );
    assert_eq!(
        random(&["--window", "1 ms", "--requests", "4000"]),
        "--window: found \"1 ms\", expected windows long enough for 100000 to cover the run"
    );
    let path = std::env::temp_dir().join("no-such-folder").join("rows.csv");
    let path = path.to_str().unwrap();
    let message = random(&["--per-request", path]);
    assert!(
        message.starts_with(&format!("{path}: cannot write: ")),
        "{message}"
    );
}

#[test]
fn invalid_specifications() {
    let c2247 = diskarm_drives::find("hp-c2247").unwrap().text;
    for (name, from, to, message) in [
        (
            "unit.toml",
            "head_switch = \"0.89 ms\"",
            "head_switch = \"0.89\"",
            "mechanics.head_switch: found \"0.89\", expected ",
        ),
        (
            "capacity.toml",
            "sectors = 2_054_864",
            "sectors = 3_054_864",
            "geometry.sectors: found 3054864, expected ",
        ),
    ] {
        let path = file_of(name, &c2247.replace(from, to));
        let line = c2247.lines().position(|l| l == from).unwrap() + 1;
        let found = error(&["simulate", "--drive", &path, "--random", "--policy", "fcfs"]);
        std::fs::remove_file(&path).unwrap();
        assert!(
            found.starts_with(&format!("{path}:{line}: {message}")),
            "{found}"
        );
    }
}

#[test]
fn errors_name_the_invalid_key_or_flag() {
    let c2247 = diskarm_drives::find("hp-c2247").unwrap().text;
    let simulate = |name: &str, text: String| {
        let path = file_of(name, &text);
        let found = error(&["simulate", "--drive", &path, "--random", "--policy", "fcfs"]);
        std::fs::remove_file(&path).unwrap();
        found.replace(&path, name)
    };
    let odd = c2247.replace("sector_bytes = 512", "sector_bytes = 3");
    let expected = "geometry.sector_bytes: found 3, expected a size that divides the default \
                    --size, 8 KiB, or another --size";
    assert_eq!(simulate("odd.toml", odd), expected);
    let (before, curve) = c2247.split_once("form = \"two-piece\"\n").unwrap();
    let line = before.lines().count() + 1;
    let (_, after) = curve.split_once("\n[").unwrap();
    let guessed = format!("{before}avg = \"8.5 ms\"\n[{after}");
    let expected = format!(
        "guessed.toml:{line}: mechanics.seek.avg: found an unknown key, expected a known key: \
         form, "
    );
    let found = simulate("guessed.toml", guessed);
    assert!(found.starts_with(&expected), "{found}");

    let one = "0.25 0 1200 8 1\n";
    let (_, message) = trace("backwards", one, &["--from", "5s", "--until", "1s"]);
    let expected = "--until: found \"1 s\", expected a time after that of --from, 5 s";
    assert_eq!(message, expected);
    let (_, message) = trace("slower", one, &["--faster", "-1"]);
    let expected = "--faster: found \"-1\", expected a number above 0 with at most nine decimals, \
                    such as 1.5";
    assert_eq!(message, expected);
}

#[test]
fn a_format_with_responses_may_lack_them() {
    let issue = "8,0    0        1     0.000000100  4162  D   R 64 + 8 [fio]\n";
    let rows = format!("{issue}{}", issue.replace("0.0000001", "0.0000101"));
    for (name, text, why) in [
        (
            "issued.blkparse",
            rows.as_str(),
            "which the format blkparse can carry, but which this request lacks: a trace of \
             events does not show it complete",
        ),
        (
            "plain.disksim",
            "0.25 0 1200 8 1\n",
            "which the format disksim does not carry",
        ),
    ] {
        let path = file_of(name, text);
        let found = error(&["validate", "--drive", "hp-c2247", &path]);
        std::fs::remove_file(&path).unwrap();
        let expected = "response: found \"none\", expected measured responses, and pauses or \
                        arrivals, ";
        assert_eq!(found, format!("{path}:1: {expected}{why}"));
    }
}

#[test]
fn traces_that_do_not_fit() {
    let many: String = (0..4097).map(|n| format!("{n}.0 {n} 1200 8 1\n")).collect();
    let (path, message) = trace("many", &many, &[]);
    let expected = "device: found \"4096\", expected at most 4096 devices; use --device to choose \
                    some";
    assert_eq!(message, format!("{path}:4097: {expected}"));

    let (path, message) = trace("seven", "0.25 0 1200 8 1\n", &["--device", "7"]);
    let expected = format!("--device: found \"7\", expected a device with requests in {path}");
    assert_eq!(message, expected);

    // The drive has 2,054,864 blocks; the second request ends one block beyond.
    let (path, message) = trace("end", "0.25 0 2054848 16 1\n1.5 0 2054849 16 0\n", &[]);
    let expected = "lbn: found \"16 sectors from 2054849\", expected a request within 2054864 \
                    blocks, or --fit set to scale, fold or spread";
    assert_eq!(message, format!("{path}:2: {expected}"));

    let (path, message) = trace("empty-request", "0.25 0 16 0 1\n", &[]);
    let expected = "blocks: found \"0\", expected a whole number from 1 to 65536";
    assert_eq!(message, format!("{path}:1: {expected}"));

    let (path, message) = trace("strange", "a b c\n", &[]);
    let expected = "format not recognised: line 1 is \"a b c\", expected one of measured, ";
    assert!(
        message.starts_with(&format!("{path}: {expected}")),
        "{message}"
    );

    let two = "0.25 0 1200 8 1\n1.5 0 90 16 0\n";
    let (_, message) = trace("warm", two, &["--warmup", "2"]);
    let expected = "--warmup: found \"2\", expected less than 2, the number of requests in --trace";
    assert_eq!(message, expected);
}

/// Names of formats that need a feature are not misspellings.
#[cfg(not(feature = "parquet"))]
#[test]
fn formats_that_this_build_lacks() {
    let path = file_of("left-out.spc", "0,64,4096,R,0.0\n");
    let missing = "format: found \"parquet\", which this build does not support: build with \
                   --features parquet";
    let message = error(&["trace", "info", "--format", "parquet", &path]);
    assert_eq!(message, format!("{path}: {missing}"));
    let out = format!("{path}.parquet");
    let message = error(&["trace", "convert", &path, &out, "--to", "parquet"]);
    assert_eq!(message, format!("{out}: {missing}"));
    assert!(!std::path::Path::new(&out).exists());
    std::fs::remove_file(path).unwrap();
}

/// Mistakes of users of other programs, with hints at what they probably meant.
#[test]
fn errors_suggest_what_was_probably_meant() {
    let own = file_of("own.csv", "time,lba,size,rw\n0.1,100,8,R\n");
    for (arguments, expected) in [
        (
            &["trace", "info", &own][..],
            "(name the format, or convert the file to one of these: docs/reference/traces.md \
             lists their columns)",
        ),
        (
            &[
                "simulate", "--random", "--policy", "fcfs", "--drive", "hp-c2247", "--size", "4KB",
            ],
            "--size: found \"4KB\", expected 1 to 65536 sectors of 512 bytes, with a unit, such as \
             \"4 KiB\"",
        ),
        (
            &["drives", "show", "hp-c2247", "--set", "rotation=7200"],
            "rotation: found an unknown key, expected a known key, perhaps \"mechanics.rotation\"",
        ),
        (
            &["drives", "new", "--capacity", "4TB", "--seek", "9ms"],
            "give --rpm, --outer from the data sheet, such as --capacity 8TB",
        ),
        (
            &["compare", "--drive", "hp-c2247", "--drive", "hp-c3323a"],
            "cannot be used multiple times; `diskarm compare --drive A,B` compares several drives",
        ),
        (&["queueing", "hp-c2247"], "found; perhaps --drive hp-c2247"),
        (
            &["drives", "hp-c2247"],
            "unrecognized subcommand 'hp-c2247'; perhaps `diskarm drives show hp-c2247`",
        ),
        (
            &["policies", "sptr"],
            "expected a policy (`diskarm policies` lists them)",
        ),
        (
            &["devices", "raid"],
            "expected a device (`diskarm devices` lists them)",
        ),
        (
            &["scan", "nosuch.img"],
            "expected an existing file or device (No such file or directory",
        ),
        (
            &["scan", "hp-c2247"],
            "expected sim:hp-c2247, or a file of that name",
        ),
        (
            &["scan", "ftp://host/x"],
            "expected the path of a file or a device, sim:NAME, nbd:",
        ),
        (
            &["study", "diff", "no-such-folder", "b"],
            "no-such-folder has no results.json: give a folder with the results",
        ),
    ] {
        let found = error(arguments);
        assert!(found.contains(expected), "{arguments:?}: {found}");
    }
    std::fs::remove_file(own).unwrap();
}

/// `extract` has no option `--drive`, and `study` does not show drives.
#[test]
fn hints_name_only_options_of_the_command() {
    for (arguments, expected) in [
        (&["extract", "sim:hp-c2247", "out.toml"][..], "'out.toml'"),
        (&["study", "fig3.toml"], "'fig3.toml'"),
    ] {
        let found = error(arguments);
        let is_plain = found.contains(expected) && !found.contains("perhaps");
        assert!(is_plain, "{arguments:?}: {found}");
    }
}

/// Percentages without a sign are accepted, except 0.67, which may mean 0.67 % or 67 %.
#[test]
fn a_percentage_without_a_sign_is_accepted_if_it_is_clear() {
    let run = |reads: &str, workload: &str| {
        let fixed = [
            "simulate",
            "--drive",
            "hp-c2247",
            "--policy",
            "fcfs",
            "--requests",
            "300",
        ];
        let flags = match workload {
            "" => vec!["--random", "--reads", reads],
            workload => vec!["--workload", workload],
        };
        crate::json(&[&fixed[..], &flags, &["--json"]].concat())["reads"]["requests"].clone()
    };
    assert_eq!(run("67", ""), run("67 %", ""));
    assert_eq!(run("0", ""), run("0 %", ""));
    let poisson = |reads: &str| run("", &format!("poisson(rate=30/s) uniform reads={reads}"));
    assert_eq!(poisson("67"), poisson("67%"));
    let expected = "--reads: found \"0.67\", expected a percentage from 0 % to 100 %, with the \
                    % sign, such as";
    assert!(random(&["--reads", "0.67"]).starts_with(expected));
}

/// Both names of an option lead to the same message, which has the new one.
#[test]
fn renamed_options_keep_their_old_names() {
    for (before, old, new, after) in [
        (
            &["extract", "sim:hp-c2247", "-o", "x.toml"][..],
            "--over-content",
            "--overwrite-data",
            &[][..],
        ),
        (
            &["scan", "sim:hp-c2247", "--rebuild"],
            "--inside",
            "--in-firmware",
            &[],
        ),
        (&["serve", "nbd"], "--no-time", "--instant", &[]),
        (&["serve", "nbd"], "--bound", "--max-lateness", &["x"]),
        (
            &["serve", "ctl", "x.ctl"],
            "strike",
            "trigger",
            &["--nth", "0"],
        ),
        (
            &["serve", "ctl", "x.ctl"],
            "figures",
            "stats",
            &["--export", "x"],
        ),
        (
            &["trace", "convert", "a", "b", "--to", "spc"],
            "--room",
            "--target-size",
            &["x"],
        ),
        (
            &["serve", "nbd", "--export"],
            "x(drive=hp-c2247, bound=x)",
            "x(drive=hp-c2247, max-lateness=x)",
            &[],
        ),
    ] {
        let message = |name| error(&[before, &[name], after].concat());
        let renamed = message(new);
        assert!(
            !renamed.contains("unexpected") && !renamed.contains("unrecognized"),
            "{renamed}"
        );
        assert_eq!(
            message(old).replace("x.bound", "x.max-lateness"),
            renamed,
            "{old}"
        );
    }
}

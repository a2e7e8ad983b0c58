//! Parsing of workloads: meaning and errors.

use diskarm_core::units::SectorCount;
use diskarm_core::workload::places::{Local, Sequential, Uniform};
use diskarm_core::workload::sizes::{Exponential, Fixed};
use diskarm_core::workload::{Arrivals, Places, Share, Sizes, Stream, Workload};

use crate::{DISK, stream};

fn error(text: &str) -> String {
    let workload = Workload::parse(text, DISK);
    let error = workload.expect_err(&format!("no error in {text:?}"));
    assert_eq!(error.line, None);
    error.to_string()
}

fn toml_error(text: &str) -> String {
    let workload = Workload::parse_toml(text, "x.toml", DISK);
    let error = workload.expect_err(&format!("no error in {text:?}"));
    let line = error.to_string().strip_prefix("x.toml:").map(str::to_owned);
    line.unwrap_or_else(|| panic!("{error}"))
}

#[test]
fn omitted_parts_are_the_classic_workload() {
    assert_eq!(stream("poisson(mean=31.2ms)"), Stream::worthington94());
    let same = "poisson(mean = 31.2 ms)  uniform() size=fixed(size=16 sectors)";
    assert_eq!(stream(same), Stream::worthington94());
}

#[test]
fn expressions_have_their_documented_meaning() {
    let text = "uniform(to=22ms) sequential(share=30%) local(share=30%, deviation=10000 sectors) \
                uniform size=exponential(mean=8KiB) reads=50%";
    let read = stream(text);
    let deviation = SectorCount(10_000);
    let rules = [
        (0.3, Places::Sequential(Sequential { runs: None })),
        (0.3, Places::Local(Local { deviation })),
        (0.4, Places::Uniform(Uniform)),
    ];
    let expected = rules.map(|(share, value)| Share { share, value });
    assert_eq!(read.places.parts, expected);
    let (mean, unit) = (SectorCount(16), SectorCount(1));
    assert_eq!(read.sizes, Sizes::Exponential(Exponential { mean, unit }));
    assert_eq!(read.read_share, 0.5);
    let words: Vec<&str> = text.splitn(2, ' ').collect();
    // Size and share of reads may be anywhere after the arrivals.
    let turned = "uniform(to=22ms) reads=50% sequential(share=30%) \
                  size=exponential(mean=8KiB) local(share=30%, deviation=10000sectors) uniform";
    assert_eq!(words[0], "uniform(to=22ms)");
    assert_eq!(stream(turned), read);
}

#[test]
fn a_file_has_the_same_meaning() {
    let one = "arrivals = \"closed(clients=10, think=30ms)\"\nsize = \"4 KiB\"\nreads = \"67 %\"\n";
    let by_file = Workload::parse_toml(one, "one.toml", DISK).unwrap();
    let text = "closed(clients=10, think=30ms) size=4KiB reads=67%";
    assert_eq!(by_file, Workload::parse(text, DISK).unwrap());

    let two = "[[stream]]\narrivals = \"poisson(rate=60/s)\"\n\n[[stream]]\n\
               places = \"sequential(share=30%) uniform\"\narrivals = \"poisson(rate=9/s)\"\n";
    let by_file = Workload::parse_toml(two, "two.toml", DISK).unwrap();
    let text = "poisson(rate=60/s) + poisson(rate=9/s) sequential(share=30%) uniform";
    assert_eq!(by_file, Workload::parse(text, DISK).unwrap());
}

#[test]
fn every_generator_parses_its_documented_parameters() {
    let call = |name: &str, parameters: &[(&str, &str)]| {
        let written: Vec<&str> = parameters.iter().map(|(written, _)| *written).collect();
        format!("{name}({})", written.join(", "))
    };
    for info in Arrivals::infos() {
        let text = call(info.name, info.parameters);
        assert!(Workload::parse(&text, DISK).is_ok(), "{text}");
    }
    for info in Places::INFOS {
        let text = format!("poisson(rate=1/s) {}", call(info.name, info.parameters));
        assert!(Workload::parse(&text, DISK).is_ok(), "{text}");
    }
    for info in Sizes::INFOS {
        let text = format!(
            "poisson(rate=1/s) size={}",
            call(info.name, info.parameters)
        );
        assert!(Workload::parse(&text, DISK).is_ok(), "{text}");
    }
    let size = SectorCount(16);
    assert_eq!(
        stream("closed(clients=1) size=8KiB").sizes,
        Sizes::Fixed(Fixed { sectors: size })
    );
}

#[test]
fn misspelt_names_suggest_their_nearest() {
    for (text, expected) in [
        (
            "poison(rate=60/s)",
            "arrivals: found \"poison\", expected arrivals, perhaps \"poisson\"",
        ),
        (
            "poisson(rat=60/s)",
            "poisson: found \"rat\", expected a known parameter, perhaps \"rate\"",
        ),
        (
            "poisson(rate=60/s) sequentail",
            "places: found \"sequentail\", expected places, perhaps \"sequential\"",
        ),
        (
            "poisson(rate=60/s) sizes=4KiB",
            "key: found \"sizes\", expected a known key, perhaps \"size\"",
        ),
        (
            "poisson(rate=60/s) size=mixd(4KiB=1%)",
            "size: found \"mixd\", expected a size such as 8KiB, or a distribution of sizes, \
             perhaps \"mixed\"",
        ),
        (
            "poisson(rate=60/s) anywhere",
            "places: found \"anywhere\", expected places: uniform, sequential, local, hot, zipf",
        ),
        (
            "poisson(rate=60/s) uniform(from=3)",
            "uniform: found \"from\", expected a known parameter: share",
        ),
        (
            "hyperexponential(rate=30/s)",
            "hyperexponential.long: found nothing, expected a share above 0 % and below 100 %",
        ),
        (
            "hyperexponential(long=0%, ratio=9, rate=30/s)",
            "hyperexponential.long: found \"0%\", expected a share above 0 % and below 100 %",
        ),
        (
            "hyperexponential(long=100%, ratio=9, rate=30/s)",
            "hyperexponential.long: found \"100%\", expected a share above 0 % and below 100 %",
        ),
    ] {
        assert_eq!(error(text), expected);
    }
}

/// Asserts the error message of each text.
fn assert_errors(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(error(text), *expected, "{text}");
    }
}

#[test]
fn invalid_arrivals() {
    let rate = "expected a rate from one per hour to 1000000000/s, such as \"32/s\"";
    assert_errors(&[
        (
            "",
            "arrivals: found nothing, expected arrivals, such as poisson(rate=60/s)",
        ),
        (
            "sequential size=64KiB",
            "arrivals: found \"sequential\", expected arrivals first, such as poisson(rate=60/s)",
        ),
        // Arrivals of this name have parameters.
        (
            "uniform reads=50%",
            "arrivals: found \"uniform\", expected arrivals first, such as poisson(rate=60/s)",
        ),
        (
            "size=mixed(4KiB=60%, 8KiB=40%) uniform",
            "arrivals: found \"size=mixed(4KiB=60%, 8KiB=40%)\", expected arrivals first, such as \
             poisson(rate=60/s)",
        ),
        (
            "uniform(from=5ms)",
            "uniform.to: found nothing, expected a time above 0, up to an hour, with its unit, \
             such as \"31.2 ms\"",
        ),
        (
            "poisson(rate=60/x)",
            &format!("poisson.rate: found \"60/x\", {rate}"),
        ),
        ("poisson", &format!("poisson.rate: found nothing, {rate}")),
        (
            "poisson(rate=1/s, mean=1s)",
            "poisson.rate: found both a rate and a mean, expected one of them",
        ),
        (
            "poisson(rate=1/s, rate=2/s)",
            "poisson.rate: found \"1/s\" and \"2/s\", expected a single value",
        ),
        (
            "poisson(rate=1/s",
            "arrivals: found \"poisson(rate=1/s\", expected 1 more \")\"",
        ),
        (
            "poisson(60/s)",
            "poisson: found \"60/s\", expected parameters as key=value",
        ),
        (
            "erlang(k=0, rate=1/s)",
            "erlang.k: found \"0\", expected a whole number from 1 to 1000000",
        ),
        (
            "uniform(from=5ms, to=3ms)",
            "uniform.from: found \"5 ms\", expected at most 3 ms, which is uniform.to",
        ),
        (
            "bursts(on=1us, off=1s, rate=1/s)",
            "bursts.on: found \"0.001 ms\", expected at least 1 ms, for one arrival in 1000 bursts",
        ),
        (
            "closed(clients=1, think=5)",
            "closed.think: found \"5\", expected a time from 0 to an hour with its unit, such as \
             \"5 ms\", or a distribution such as poisson(mean=5ms)",
        ),
    ]);
}

#[test]
fn invalid_requests() {
    let share = "expected a percentage from 0 % to 100 %, with the % sign, such as \"67 %\"";
    assert_errors(&[
        (
            "poisson(rate=1/s) reads=0.67",
            &format!("reads: found \"0.67\", {share}"),
        ),
        (
            "poisson(rate=1/s) reads=101",
            &format!("reads: found \"101\", {share}"),
        ),
        (
            "poisson(rate=1/s) reads=1% reads=1%",
            "reads: found \"1%\", expected a single value",
        ),
        (
            "poisson(rate=1/s) size=100B",
            "size: found \"100B\", expected 1 to 65536 sectors of 512 bytes, with a unit, such as \
             \"8 KiB\"",
        ),
        (
            "poisson(rate=1/s) size=mixed(4KiB=96%, 24KiB=5%)",
            "mixed: found \"101 %\", expected shares that add up to 100 %",
        ),
        (
            "poisson(rate=1/s) sequential uniform",
            "places: found \"sequential uniform\", expected a share for every rule except one, \
             such as sequential(share=30%)",
        ),
        (
            "poisson(rate=1/s) sequential(share=30%)",
            "places: found \"30 %\", expected shares that add up to 100 %, or one rule \
             without a share",
        ),
        (
            "poisson(rate=1/s) hot(at=99.5%)",
            "hot.at: found \"99.5 %\", expected at most 99 %, because of the width of the zone",
        ),
        (
            "poisson(rate=1/s) hot(at=0%, width=0%)",
            "hot.width: found \"0 %\", expected a zone at least as wide as the largest request, \
             16 sectors",
        ),
        (
            "poisson(rate=1/s) hot(at=0%, width=0.0001%)",
            "hot.width: found \"0.0001 %\", expected a zone at least as wide as the largest \
             request, 16 \
             sectors",
        ),
        (
            "poisson(rate=1/s) zipf(exponent=1, extent=4KiB)",
            "zipf.extent: found \"8 sectors\", expected an extent of at least 16 sectors, the \
             largest request",
        ),
    ]);
}

#[test]
fn errors_in_files_have_their_line() {
    for (text, expected) in [
        (
            "",
            "1: arrivals: found nothing, expected arrivals, such as ",
        ),
        (
            "arrivals = 3\n",
            "1: arrivals: found \"3\", expected a string in quotes",
        ),
        (
            "# x\narrivals = \"poisson(rate=1/x)\"\n",
            "2: poisson.rate: found \"1/x\", expected a rate",
        ),
        (
            "arrivals = \"poisson(rate=1/s)\"\nread = \"1 %\"\n",
            "2: key: found \"read\", expected a known key, perhaps \"reads\"",
        ),
        (
            "[[stream]]\narrivals = \"poisson(rate=1/s)\"\n[[stream]]\nsize = \"4 KiB\"\n",
            "3: stream[1].arrivals: found nothing, expected arrivals",
        ),
        (
            "[[stream]]\narrivals = \"poisson(rate=1/s)\"\nreads = \"101 %\"\n",
            "3: stream[0].reads: found \"101 %\", expected a percentage",
        ),
        (
            "stream = 3\n",
            "1: stream: found nothing, expected [[stream]] tables",
        ),
        (
            "size = \"4 KiB\"\n[[stream]]\n",
            "1: size: found \"size\", expected only [[stream]] tables",
        ),
        ("arrivals = \n", "1: syntax: found nothing, expected TOML ("),
    ] {
        let found = toml_error(text);
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn a_workload_has_at_most_a_thousand_streams() {
    let words = |count: usize| vec!["poisson(rate=1/s)"; count].join(" + ");
    let tables = |count: usize| "[[stream]]\narrivals = \"poisson(rate=1/s)\"\n".repeat(count);
    assert_eq!(
        Workload::parse(&words(1000), DISK).unwrap().streams.len(),
        1000
    );
    let error = Workload::parse(&words(1001), DISK).unwrap_err().to_string();
    assert_eq!(error, "streams: found 1001, expected at most 1000");
    assert!(Workload::parse_toml(&tables(1000), "w.toml", DISK).is_ok());
    let error = toml_error(&tables(1001));
    assert!(
        error.starts_with("1: streams: found 1001, expected at most 1000"),
        "{error}"
    );
}

//! Metrics for monitoring: OpenMetrics over HTTP.
//!
//! The text follows the OpenMetrics specification, version 1.0. The implementation of HTTP/1.1
//! (RFC 9112) supports only what a scraper needs, with one request per connection.

use std::fmt::Write as _;
use std::io;

use crate::sockets::Listener;
use crate::statistics::{ExportStatistics, Lateness};
use crate::text_server::{TextAnswer, serve_texts};

const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    samples: fn(&ExportStatistics) -> Vec<Sample>,
}

/// The suffix of the family's name, additional labels, and the value.
type Sample = (&'static str, Vec<(&'static str, String)>, f64);

const FAMILIES: [Family; 6] = [
    Family {
        name: "diskarm_connections",
        kind: "counter",
        help: "Connections that completed the handshake.",
        samples: |statistics| vec![("_total", vec![], statistics.connections as f64)],
    },
    Family {
        name: "diskarm_requests",
        kind: "counter",
        help: "Requests by type.",
        samples: |statistics| count_samples(&statistics.counts.kinds()),
    },
    Family {
        name: "diskarm_unsuccessful_requests",
        kind: "counter",
        help: "Requests that failed, or were refused or aborted.",
        samples: |statistics| count_samples(&statistics.counts.unsuccessful()),
    },
    Family {
        name: "diskarm_transferred_bytes",
        kind: "counter",
        help: "Data requested by reads, and data written.",
        samples: |statistics| {
            let counts = &statistics.counts;
            count_samples(&[
                ("reads", counts.read_bytes),
                ("writes", counts.written_bytes),
            ])
        },
    },
    Family {
        name: "diskarm_lateness_seconds",
        kind: "summary",
        help: "Time from a request's completion in the drive to its reply.",
        samples: |statistics| statistics.lateness.iter().flat_map(quantiles).collect(),
    },
    Family {
        name: "diskarm_keeps_time",
        kind: "gauge",
        help: "1 if the 99th percentile of lateness is within the limit, otherwise 0.",
        samples: |statistics| {
            let sample = |late: &Lateness| ("", vec![], f64::from(u8::from(late.keeps_time)));
            statistics.lateness.iter().map(sample).collect()
        },
    },
];

fn count_samples(counts: &[(&'static str, u64)]) -> Vec<Sample> {
    let sample =
        |&(kind, count): &(&str, u64)| ("_total", vec![("kind", kind.to_owned())], count as f64);
    counts.iter().map(sample).collect()
}

fn quantiles(late: &Lateness) -> Vec<Sample> {
    let quantiles = [
        ("0.5", late.p50_us),
        ("0.99", late.p99_us),
        ("0.999", late.p999_us),
        ("1.0", late.max_us),
    ];
    let sample = |(name, us): (&str, f64)| ("", vec![("quantile", name.to_owned())], us / 1e6);
    let mut samples: Vec<Sample> = quantiles.map(sample).into();
    let replies = late.replies as f64;
    samples.push(("_count", vec![], replies));
    samples.push(("_sum", vec![], late.mean_us * replies / 1e6));
    samples
}

/// Formats the statistics of the exports as OpenMetrics text.
pub fn open_metrics(exports: &[ExportStatistics]) -> String {
    let mut text = String::new();
    for family in &FAMILIES {
        let Family {
            name, kind, help, ..
        } = family;
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if name.ends_with("_seconds") || name.ends_with("_bytes") {
            let unit = name.rsplit('_').next().unwrap_or_default();
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {help}");
        for export in exports {
            for (suffix, labels, value) in (family.samples)(export) {
                let common = [
                    ("export", export.export.clone()),
                    ("drive", export.drive.clone()),
                ];
                let labels = common.into_iter().chain(labels);
                let labels: Vec<String> = labels
                    .map(|(label, text)| format!("{label}=\"{}\"", escape(&text)))
                    .collect();
                let _ = writeln!(text, "{name}{suffix}{{{}}} {value}", labels.join(","));
            }
        }
    }
    text + "# EOF\n"
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Answers `GET /metrics` with `text` in the background until the program ends. Disconnects clients
/// without an answer if there is no text.
pub fn serve_metrics(
    listener: Listener,
    text: impl Fn() -> Option<String> + Send + 'static,
) -> io::Result<()> {
    serve_texts("metrics", listener, move |input| {
        let input = String::from_utf8_lossy(input);
        // The other lines are read because closing the socket with unread input would discard the
        // answer.
        let mut lines = input.split_inclusive('\n');
        lines.position(|line| matches!(line, "\r\n" | "\n"))?;
        Some(TextAnswer {
            length: 0,
            text: text().map(|text| answer(&input, &text)),
            is_last: true,
        })
    })
}

fn answer(request: &str, text: &str) -> String {
    let mut words = request.split_whitespace();
    let (status, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => ("200 OK", text),
        (Some("GET"), Some(_)) => ("404 Not Found", "The only path is /metrics.\n"),
        _ => ("400 Bad Request", "Expected GET /metrics.\n"),
    };
    let kind = if body == text { TYPE } else { "text/plain" };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use diskarm_core::units::Span;

    use super::*;
    use crate::sockets::Address;
    use crate::statistics::{Counts, Statistics};

    fn statistics() -> ExportStatistics {
        let mut statistics = Statistics::default();
        statistics.record_lateness(Span::from_us(20.0));
        ExportStatistics {
            export: "a\"b".to_owned(),
            drive: "hp-c2247".to_owned(),
            policy: None,
            bytes: 1 << 20,
            store: "memory".to_owned(),
            speed: Some(1.0),
            connections: 2,
            counts: Counts {
                reads: 3,
                ..Counts::default()
            },
            lateness: Lateness::new(&statistics, Span::from_us(10.0)),
            recording: None,
        }
    }

    #[test]
    fn samples_carry_the_labels_of_their_export() {
        let text = open_metrics(&[statistics()]);
        let labels = "export=\"a\\\"b\",drive=\"hp-c2247\"";
        for line in [
            "# TYPE diskarm_requests counter".to_owned(),
            format!("diskarm_requests_total{{{labels},kind=\"reads\"}} 3"),
            "# UNIT diskarm_lateness_seconds seconds".to_owned(),
            format!("diskarm_lateness_seconds{{{labels},quantile=\"1.0\"}} 0.00002"),
            format!("diskarm_lateness_seconds_count{{{labels}}} 1"),
            format!("diskarm_keeps_time{{{labels}}} 0"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(text.ends_with("\n# EOF\n"));
    }

    #[test]
    fn only_the_metrics_path_exists() {
        let address = Address::parse("127.0.0.1:0").expect("an address");
        let listener = Listener::bind(&address).expect("a port");
        let address = listener.tcp_address().expect("an address");
        serve_metrics(listener, || Some("text\n".to_owned())).expect("a thread");
        let ask = |request: &str| {
            let mut stream = TcpStream::connect(address).expect("a listening server");
            stream.write_all(request.as_bytes()).expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer");
            answer
        };
        let found = ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(found.starts_with("HTTP/1.1 200 OK\r\n"), "{found}");
        assert!(found.contains(TYPE), "{found}");
        assert!(found.ends_with("\r\n\r\ntext\n"), "{found}");
        assert!(ask("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(ask("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
    }
}

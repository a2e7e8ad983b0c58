//! Why some means of the random workload differ from DiskSim's by more than the document
//! takes without a word.

/// A known cause, under whatever load the difference is flagged.
pub struct Cause {
    /// The policy, as the reference data write it: `FCFS`, `C-LOOK by LBN`, `SPTF`.
    pub policy: &'static str,
    /// Which of the means: `response`, `service`, `seek`, `rotational wait`.
    pub quantity: &'static str,
    /// Sentences of Markdown.
    pub text: &'static str,
}

/// One entry a cause. What is flagged and not here is called unexplained.
pub const CAUSES: &[Cause] = &[
    Cause {
        policy: "SPTF",
        quantity: "rotational wait",
        text: ESTIMATE,
    },
    Cause {
        policy: "SPTF",
        quantity: "service",
        text: "the shorter rotational wait, see there.",
    },
    Cause {
        policy: "SPTF",
        quantity: "response",
        text: "\
the shorter rotational wait, see there: near saturation a service 3 % shorter is a response
16 % shorter.",
    },
];

/// Found by giving our own estimate the errors that it does not have.
const ESTIMATE: &str = "\
our estimate is exact. It counts from the end of each request's own command
overhead (a read's 0.558 ms; a write's 0.824 ms, or 0.642 ms and 0.25 ms behind another
write) and knows when a write has enough data to begin. An estimate that is off by the 0.3
ms between a read's and a write's overhead loses a revolution on some choices. Given that
error on purpose our mean response with 64 outstanding rises from 793 ms to 804 ms (reads
taken for writes) or 829 ms (writes taken for reads), and with arrivals 16.8 ms apart from
121.6 ms to 129.3 ms or 133.3 ms: DiskSim's lie between. Its port also leaves the extra
disconnect of non-sequential writes out.";

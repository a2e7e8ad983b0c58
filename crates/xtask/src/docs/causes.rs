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
pub const CAUSES: &[Cause] = &[];

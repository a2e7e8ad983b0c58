//! The papers and what they conclude.

pub struct Paper {
    /// As in the sources of studies.
    pub name: &'static str,
    /// Authors, title and year.
    pub title: &'static str,
    /// The name of a page in `docs` that also shows the figures of its studies, if it has one in
    /// place of a page in `docs/papers`.
    pub illustrated: Option<&'static str>,
    pub conclusions: &'static [Conclusion],
}

impl Paper {
    /// Its page, from `docs`, without the ending.
    pub fn page(&self) -> String {
        let own = self.illustrated.map(str::to_owned);
        own.unwrap_or_else(|| format!("papers/{}", self.name))
    }
}

/// A conclusion of a paper, and the claims that check it.
pub struct Conclusion {
    /// The conclusion, in a sentence.
    pub says: &'static str,
    /// Where the paper draws it.
    pub place: &'static str,
    /// Studies, each with words that are in the claims; all claims of the study if empty.
    pub claims: &'static [(&'static str, &'static str)],
}

pub const PAPERS: [Paper; 4] = [
    Paper {
        name: "worthington94",
        title: "B. L. Worthington, G. R. Ganger, Y. N. Patt: Scheduling for Modern Disk Drives and \
                Non-Random Workloads, 1994",
        illustrated: None,
        conclusions: &[
            Conclusion {
                says: "Knowing the mapping of blocks gives seek-reducing policies a marginal \
                       decrease of response times, less than 2 %.",
                place: "abstract, first conclusion",
                claims: &[
                    ("worthington94-fig4", "by block number is within"),
                    ("worthington94-reallocated", "gains less than 1 %"),
                    ("worthington94-traces-map", "with cylinders of 1024"),
                    ("worthington94-traces-map", "gains by the mapping"),
                ],
            },
            Conclusion {
                says: "C-LOOK, which ascends, uses a prefetching cache best: of the seek-reducing \
                       policies it is the fastest where reads run on.",
                place: "abstract, second conclusion",
                claims: &[
                    (
                        "worthington94-traces-lbn",
                        "C-LOOK's mean response time is below",
                    ),
                    ("worthington94-traces-lbn", "rate of buffer hits"),
                    ("worthington94-bursts", "With a prefetching cache C-LOOK"),
                    ("worthington94-bursts", "rate of buffer hits"),
                ],
            },
            Conclusion {
                says: "Policies that reduce positioning delays are the fastest of all, provided \
                       that they know the prefetching cache.",
                place: "abstract, third conclusion",
                claims: &[
                    ("worthington94-traces-full", "Reducing positioning delays"),
                    ("worthington94-bursts", "Reducing positioning delays"),
                ],
            },
            Conclusion {
                says: "For random workloads C-LOOK is slightly slower than SSTF, LOOK and \
                       VSCAN(0.2), by 5 to 10 %.",
                place: "sections 5.1 and 7",
                claims: &[("worthington94-fig3", "C-LOOK's mean response time is")],
            },
            Conclusion {
                says: "C-LOOK resists starvation best.",
                place: "section 5.1",
                claims: &[
                    ("worthington94-fig3", "coefficient of variation than"),
                    ("worthington94-fig3", "above C-LOOK's"),
                    ("worthington94-traces-lbn", "C-LOOK resists starvation"),
                ],
            },
            Conclusion {
                says: "With positioning times any weight of age gives shorter means than seek \
                       times do.",
                place: "section 5.3",
                claims: &[("worthington94-fig5", "All ASPTF(W)")],
            },
        ],
    },
    Paper {
        name: "jacobson91",
        title: "D. M. Jacobson, J. Wilkes: Disk scheduling algorithms based on rotational \
                position, 1991",
        illustrated: None,
        conclusions: &[
            Conclusion {
                says: "At very low arrival rates all policies are alike.",
                place: "section 7",
                claims: &[("jacobson91-fig10", "At low rates")],
            },
            Conclusion {
                says: "Policies by access time match or outperform all by seek time.",
                place: "abstract and section 7",
                claims: &[
                    ("jacobson91-fig10", "All by rotation match or outperform"),
                    (
                        "jacobson91-fig10",
                        "more than SSTF, the best of those by seeks",
                    ),
                ],
            },
            Conclusion {
                says: "ASATF(30) sustains 18 to 25 % more than SSTF at means of 0.1 to 0.3 s, and \
                       15 to 32 % more at 95th percentiles of 0.2 to 1.0 s.",
                place: "section 7",
                claims: &[("jacobson91-fig10", "% more than SSTF")],
            },
            Conclusion {
                says: "It sustains at most 2 % less than SATF at the same mean, and 5 % more at a \
                       95th percentile of 1.0 s.",
                place: "section 7",
                claims: &[
                    ("jacobson91-fig10", "2 % less than SATF"),
                    ("jacobson91-fig10", "5 % more than SATF"),
                ],
            },
            Conclusion {
                says: "It sustains 44 and 50 % more than SCAN at 95th percentiles of 0.4 and \
                       0.5 s; minding access times is worth about 50 %.",
                place: "section 7",
                claims: &[
                    ("jacobson91-fig10", "% more than SCAN"),
                    ("jacobson91-fig10", "Minding the rotational position"),
                ],
            },
            Conclusion {
                says: "ASATF is equal or superior to the others in mean and variance over the \
                       entire useful range.",
                place: "abstract",
                claims: &[("jacobson91-fig10", "over the useful range")],
            },
        ],
    },
    Paper {
        name: "liu05",
        title: "C. Liu: Scheduling Policies for Disks and Disk Arrays, dissertation, 2005",
        illustrated: None,
        conclusions: &[
            Conclusion {
                says: "The mean service of SATF falls as a power of the number of requests to \
                       choose from, nearly the fifth root.",
                place: "section 5.3.4",
                claims: &[("liu05-fig5.5", "")],
            },
            Conclusion {
                says: "A scan sustains about twice what FCFS does; looking ahead shortens its \
                       response times.",
                place: "section 5.2",
                claims: &[("liu05-fig5.1", ""), ("liu05-fig5.2", "")],
            },
            Conclusion {
                says: "Up to medium loads the least seek or the least wait decides; beyond, \
                       neither does.",
                place: "section 5.3.3",
                claims: &[("liu05-fig5.4", "")],
            },
            Conclusion {
                says: "SATF outperforms FCFS by a wide margin, and alike on four drives.",
                place: "section 5.3.3",
                claims: &[("liu05-fig5.6", "SATF")],
            },
            Conclusion {
                says: "Two methods predict SATF's mean response: a birth-death model, and the \
                       normalised response of another drive.",
                place: "section 5.3.4",
                claims: &[("liu05-methods", "")],
            },
            Conclusion {
                says: "How evenly requests arrive matters little to SATF at high loads.",
                place: "section 5.3.3",
                claims: &[("liu05-fig5.7", "")],
            },
            Conclusion {
                says: "Looking ahead gains SATF a little at random places, more with busy \
                       regions.",
                place: "section 6.2.1",
                claims: &[("liu05-fig6.1", "")],
            },
            Conclusion {
                says: "Weights of waiting times shorten the 95th percentile at a small price.",
                place: "section 6.2.1",
                claims: &[
                    ("liu05-fig6.2", ""),
                    ("liu05-fig6.3", ""),
                    ("liu05-fig6.5", "SAPTF"),
                ],
            },
            Conclusion {
                says: "Windows of requests have little effect at low loads and deteriorate \
                       quickly at high ones.",
                place: "section 6.2.1",
                claims: &[("liu05-fig6.4", "")],
            },
            Conclusion {
                says: "In bursts a window of the right size improves on SATF.",
                place: "section 6.2.2",
                claims: &[("liu05-bursts", "in the bursts")],
            },
            Conclusion {
                says: "A smaller threshold of conditional priority is better for reads; about \
                       0.6 is best on the whole.",
                place: "sections 6.2.2 and 8.2.1",
                claims: &[("liu05-cp", "")],
            },
            Conclusion {
                says: "On traces weights of waiting times and priorities of reads improve the \
                       95th percentile.",
                place: "section 6.2.2",
                claims: &[("liu05-traces", "95th percentile")],
            },
            Conclusion {
                says: "With SATF it matters little how reads are routed to mirrored disks.",
                place: "section 7.5",
                claims: &[("liu05-fig7.3", "SATF"), ("liu05-fig7.3b", "MinR")],
            },
            Conclusion {
                says: "A queue that mirrored disks share serves reads far better than \
                       independent queues.",
                place: "section 7.5",
                claims: &[("liu05-fig7.5", "reads of")],
            },
            Conclusion {
                says: "Preferring reads of mirrored disks trades throughput for their response \
                       time, as on one disk.",
                place: "sections 7.5 and 8.2.1",
                claims: &[
                    ("liu05-fig7.6", "smaller threshold"),
                    ("liu05-fig7.6", "trade-off"),
                    ("liu05-fig7.6", "throughput"),
                ],
            },
            Conclusion {
                says: "Pure SATF outperforms disks that keep to one part of the data, the less so \
                       the more they read.",
                place: "section 7.5",
                claims: &[
                    ("liu05-fig7.7", "pure SATF outperforms"),
                    ("liu05-fig7.7", "gap"),
                ],
            },
            Conclusion {
                says: "In order of arrival disks that keep to one part of the data serve it faster \
                       transposed, and best with a pivot of equal utilisations.",
                place: "section 7.5",
                claims: &[
                    ("liu05-fig7.7", "faster transposed"),
                    ("liu05-fig7.7", "equal utilisations outperforms"),
                ],
            },
            Conclusion {
                says: "SATF multiplies the greatest load of mirrored disks, more so the more \
                       they read.",
                place: "section 8.2",
                claims: &[("liu05-fig7.5", "greatest load")],
            },
            Conclusion {
                says: "Deferring writes to batches (ADU) hardly raises the greatest load, and \
                       delays reads.",
                place: "section 8.2.2",
                claims: &[
                    ("liu05-adu", "greatest load"),
                    ("liu05-adu", "delay reads"),
                    ("liu05-ad-cp", "ADU serves reads"),
                ],
            },
            Conclusion {
                says: "Single writes in idle times and conditional priority (AD-CP) serve reads \
                       nearly as head-of-line priority does, and sustain more than ADU.",
                place: "section 8.2.4",
                claims: &[
                    ("liu05-ad-cp", "nearly as HOL"),
                    ("liu05-ad-cp", "sustains more than"),
                ],
            },
            Conclusion {
                says: "Larger batches serve reads better as long as they are in optimal order.",
                place: "section 8.2.3",
                claims: &[
                    ("liu05-fig8.7", "Batches of 6 are better"),
                    ("liu05-fig8.7", "Batches of 8 are better"),
                    ("liu05-fig8.7", "Batches of 10 are worse"),
                    ("liu05-fig8.7", "batches of 20 are worse"),
                ],
            },
            Conclusion {
                says: "Declustered mirrors share the work of a failed disk, basic ones leave it to \
                       its partner.",
                place: "section 9.4",
                claims: &[
                    ("liu05-table9.1", "partner"),
                    ("liu05-table9.1", "cluster"),
                    ("liu05-table9.1", "chain"),
                    ("liu05-table9.1", "group rotate"),
                ],
            },
            Conclusion {
                says: "Up to half of the disks may fail without loss of data, of interleaved ones \
                       one in each cluster.",
                place: "section 9.4, table 9.1",
                claims: &[("liu05-table9.1", "without loss")],
            },
            Conclusion {
                says: "SATF serves a batch in nearly the time of the best order.",
                place: "appendix C",
                claims: &[("liu05-tableC.1", "")],
            },
        ],
    },
    Paper {
        name: "lumb01",
        title: "C. R. Lumb, J. Schindler, G. R. Ganger: Freeblock Scheduling Outside of Disk \
                Firmware, 2001",
        illustrated: Some("freeblock"),
        conclusions: &[
            Conclusion {
                says: "Outside the firmware a background scan gets 15 % of the disk's bandwidth, \
                       over 3.1 MB/s, at less than 2 % effect on the foreground.",
                place: "abstract of the conference version",
                claims: &[
                    ("lumb01-scan", "over 3.1 MB/s"),
                    ("lumb01-scan", "15 %"),
                    ("lumb01-scan", "slowed down by less than 2 %"),
                ],
            },
            Conclusion {
                says: "The disk's bandwidth is used more than six times as well.",
                place: "abstract of the conference version",
                claims: &[("lumb01-size", "more than six times")],
            },
            Conclusion {
                says: "An external scheduler predicts service times as the firmware does, and \
                       makes the same decisions.",
                place: "section 5",
                claims: &[
                    ("lumb01-predictions", "99.9 %"),
                    ("lumb01-depth", "coincides"),
                ],
            },
            Conclusion {
                says: "Conservatism keeps the foreground from being delayed, at a cost in free \
                       bandwidth.",
                place: "section 5",
                claims: &[
                    ("lumb01-conservatism", "Without conservatism"),
                    ("lumb01-conservatism", "costs free bandwidth steadily"),
                    ("lumb01-scatter", "standard deviation"),
                ],
            },
            Conclusion {
                says: "SPTF-SW40% leaves most of the free bandwidth that SSTF does, at a small \
                       cost for the foreground.",
                place: "section 5",
                claims: &[
                    ("lumb01-conservatism", "SPTF-SW40% leaves"),
                    ("lumb01-conservatism", "costs the foreground at most"),
                ],
            },
            Conclusion {
                says: "One command a track is what scheduling outside the firmware costs most.",
                place: "section 5",
                claims: &[
                    (
                        "lumb01-limits",
                        "the limit of one request a track the least",
                    ),
                    ("lumb01-limits", "the limit costs"),
                ],
            },
        ],
    },
];

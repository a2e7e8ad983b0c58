//! What is simulated: drives, workloads, loads.

use super::TRACES;

/// A drive and a workload, at several loads.
pub struct Setting {
    /// Of its panel, and in the table.
    pub title: &'static str,
    pub drive: &'static str,
    pub load: Load,
    /// Requests a second of a workload; how many times faster than recorded a trace is replayed.
    pub loads: &'static [f64],
    /// The ones in the table: light, at the knee, beyond saturation.
    pub shown: [f64; 3],
}

/// What a load is a parameter of.
pub enum Load {
    /// A synthetic workload behind its Poisson arrivals.
    Workload(&'static str),
    /// A trace, and what becomes of blocks that the drive does not have.
    Trace {
        file: &'static str,
        fit: &'static str,
    },
}

impl Setting {
    /// The arguments of `diskarm` for one load.
    pub fn arguments(&self, load: f64) -> Vec<String> {
        let mut arguments = vec!["--drive".to_owned(), self.drive.to_owned()];
        match self.load {
            Load::Workload(rest) => {
                let workload = format!("poisson(rate={load}/s) {rest}");
                arguments.extend(["--workload".to_owned(), workload]);
            }
            Load::Trace { file, fit } => {
                let (trace, load) = (format!("{TRACES}/{file}"), load.to_string());
                let further = ["--trace", &trace, "--fit", fit, "--faster", &load];
                arguments.extend(further.map(str::to_owned));
            }
        }
        arguments
    }
}

/// File name, title and panels of each figure.
pub const FIGURES: [(&str, &str, &[Setting]); 2] = [
    ("synthetic", "Synthetic workloads", &SYNTHETIC),
    ("traces", "Real traces", &REAL),
];

const SYNTHETIC: [Setting; 6] = [
    Setting {
        title: "no sequentiality",
        drive: "hp-c2247",
        load: Load::Workload("uniform size=8KiB reads=67%"),
        loads: &[10.0, 30.0, 50.0, 60.0, 70.0, 80.0, 100.0],
        shown: [30.0, 60.0, 100.0],
    },
    Setting {
        title: "30 % sequential",
        drive: "hp-c2247",
        load: Load::Workload("sequential(share=30%) uniform size=8KiB reads=67%"),
        loads: &[10.0, 40.0, 60.0, 70.0, 80.0, 90.0, 110.0],
        shown: [40.0, 70.0, 110.0],
    },
    Setting {
        title: "80 % sequential",
        drive: "hp-c2247",
        load: Load::Workload("sequential(share=80%) uniform size=8KiB reads=67%"),
        loads: &[20.0, 60.0, 90.0, 110.0, 130.0, 150.0, 180.0],
        shown: [60.0, 110.0, 180.0],
    },
    Setting {
        title: "80 % in 4 streams, reads",
        drive: "hp-c2247",
        load: Load::Workload("sequential(share=80%, runs=4) uniform size=8KiB reads=100%"),
        loads: &[20.0, 60.0, 90.0, 110.0, 130.0, 150.0, 180.0],
        shown: [60.0, 110.0, 180.0],
    },
    Setting {
        title: "80 % in 16 streams, reads",
        drive: "hp-c2247",
        load: Load::Workload("sequential(share=80%, runs=16) uniform size=8KiB reads=100%"),
        loads: &[20.0, 60.0, 90.0, 110.0, 130.0, 150.0, 180.0],
        shown: [60.0, 110.0, 180.0],
    },
    Setting {
        title: "80 % in 4 streams, half reads",
        drive: "ibm-dnes-309170w",
        load: Load::Workload("sequential(share=80%, runs=4) uniform size=32KiB reads=50%"),
        loads: &[20.0, 60.0, 100.0, 120.0, 140.0, 160.0, 200.0],
        shown: [60.0, 120.0, 200.0],
    },
];

const REAL: [Setting; 6] = [
    Setting {
        title: "hplajw",
        drive: "hp-c2247-5p",
        load: Load::Trace {
            file: "hplajw-1992-05-30-week.srt",
            fit: "refuse",
        },
        loads: &[0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0],
        shown: [1.0, 8.0, 64.0],
    },
    Setting {
        title: "websearch",
        drive: "hp-c2247-9p",
        load: Load::Trace {
            file: "websearch-60s.mqsim",
            fit: "fold",
        },
        loads: &[0.125, 0.25, 0.35, 0.42, 0.5, 0.6],
        shown: [0.25, 0.5, 0.6],
    },
    Setting {
        title: "websearch",
        drive: "ibm-dnes-309170w",
        load: Load::Trace {
            file: "websearch-60s.mqsim",
            fit: "fold",
        },
        loads: &[0.25, 0.5, 0.75, 1.0, 1.25, 1.5],
        shown: [0.5, 1.0, 1.5],
    },
    Setting {
        title: "tpcc",
        drive: "hp-c2247-9p",
        load: Load::Trace {
            file: "tpcc-1s.mqsim",
            fit: "scale",
        },
        loads: &[0.002, 0.004, 0.008, 0.012, 0.016, 0.024, 0.032],
        shown: [0.004, 0.012, 0.032],
    },
    Setting {
        title: "cloudphysics w106",
        drive: "hp-c2247-9p",
        load: Load::Trace {
            file: "cloudphysics-w106.vscsi",
            fit: "fold",
        },
        loads: &[0.005, 0.01, 0.02, 0.04],
        shown: [0.005, 0.02, 0.04],
    },
    Setting {
        title: "cloudphysics w106",
        drive: "ibm-dnes-309170w",
        load: Load::Trace {
            file: "cloudphysics-w106.vscsi",
            fit: "fold",
        },
        loads: &[0.01, 0.02, 0.04, 0.06],
        shown: [0.01, 0.04, 0.06],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loads_of_the_table_are_simulated() {
        for (_, _, settings) in FIGURES {
            for setting in settings {
                let known = setting
                    .shown
                    .iter()
                    .all(|load| setting.loads.contains(load));
                assert!(known, "{} on {}", setting.title, setting.drive);
            }
        }
    }
}

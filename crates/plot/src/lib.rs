//! Figures of reports: lines with their confidence bands, and maps in bands of colour.
//!
//! What is drawn is plain data ([`Figure`], [`Map`]): numbers, labels and nothing of what they
//! measure. It is handed over as SVG, or as PNG made from that SVG with the font that lies in
//! `fonts/`, so that text looks the same on a machine that has none. The bytes of a drawing
//! depend on its data only.
//!
//! ```
//! use diskarm_plot::{Axis, Figure, Point, Series, png};
//!
//! let figure = Figure {
//!     title: "Mean response time".to_owned(),
//!     note: "uniform, 8 KiB".to_owned(),
//!     x: Axis::linear("Arrival rate, requests/s"),
//!     y: Axis::linear("Mean response time, ms").to(200.0),
//!     lines: "Policy".to_owned(),
//!     series: vec![Series {
//!         label: "FCFS".to_owned(),
//!         points: vec![Point::new(20.0, 26.1).give_or_take(0.3), Point::new(40.0, 71.0)],
//!         ends_saturated: true,
//!         is_reference: false,
//!     }],
//! };
//! let svg = figure.svg();
//! assert!(svg.contains("FCFS"));
//! assert_eq!(&png(&svg)?[1..4], b"PNG");
//! # Ok::<(), diskarm_plot::PngError>(())
//! ```

mod clip;
mod figure;
mod font;
mod frame;
mod legend;
mod map;
mod mark;
mod page;
mod png;
mod ruler;

pub use figure::{Figure, Point, Series};
pub use map::{Map, Side};
pub use png::{PngError, png};
pub use ruler::{Axis, Scale};

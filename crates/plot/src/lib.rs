//! Charts for reports: lines with confidence bands, colour maps, and bars.
//!
//! The input is plain data ([`Figure`], [`Map`], [`Bars`]): numbers and labels. The output is SVG,
//! or PNG rendered from that SVG with the font in `fonts/`, so that text looks the same on a
//! machine without fonts. The bytes of a drawing depend only on its data.
//!
//! The interactive parts of a drawing are SVG groups: one for each series (`series`), each of its
//! points (`point`) and each entry of the legend (`key`), with attributes that describe them.
//!
//! ```
//! use diskarm_plot::{Axis, Figure, Point, Series, png};
//!
//! let figure = Figure {
//!     title: "Mean response time".to_owned(),
//!     note: "uniform, 8 KiB".to_owned(),
//!     x: Axis::linear("Arrival rate, requests/s"),
//!     y: Axis::linear("Mean response time, ms").with_max(200.0),
//!     lines: "Policy".to_owned(),
//!     series: vec![Series {
//!         label: "FCFS".to_owned(),
//!         points: vec![Point::new(20.0, 26.1).with_half_width(0.3), Point::new(40.0, 71.0)],
//!         ends_saturated: true,
//!         is_reference: false,
//!     }],
//! };
//! let svg = figure.svg();
//! assert!(svg.contains("FCFS"));
//! assert_eq!(&png(&svg)?[1..4], b"PNG");
//! # Ok::<(), diskarm_plot::PngError>(())
//! ```

mod bars;
mod figure;
mod frame;
mod map;
mod mark;
mod page;
mod ruler;

pub use bars::{BarGroup, BarSeries, Bars};
pub use figure::{Figure, Point, Series};
pub use map::{Map, MapAxis};
pub use mark::dark_style;
pub use page::{PngError, png};
pub use ruler::{Axis, Scale, rounded, with_digits};

//! A model that is corrected by observations of a real drive.

use std::sync::Arc;

use diskarm_core::device::Outcome::{self, Hit, Miss};
use diskarm_core::drive::Core;
use diskarm_core::geometry::Layout;
use diskarm_core::units::{Instant, Span};

use super::tiny::{R, request, tiny};

/// Two segments of 20 sectors.
const BUFFER: &str = r#"
[buffer]
caching = true
segments = 2
segment = "20 sectors"
"#;

/// Serves a read of five sectors at `start` that arrives at `ms`.
fn read(core: &mut Core, ms: f64, start: u64) -> Outcome {
    let arrived = Instant::START + Span::from_ms(ms);
    core.serve_alone(request(0, R, start, 5), arrived).outcome
}

fn core() -> Core {
    let spec = tiny(BUFFER);
    let layout = Arc::new(Layout::new(&spec.geometry).expect("a valid layout"));
    Core::with_layout(&spec, layout)
}

#[test]
fn what_is_forgotten_is_read_again() {
    let mut core = core();
    assert_eq!(read(&mut core, 0.0, 0), Miss);
    assert_eq!(read(&mut core, 100.0, 0), Hit);
    core.forget(&request(0, R, 0, 5), Instant::START + Span::from_ms(200.0));
    assert_eq!(read(&mut core, 300.0, 0), Miss);
}

#[test]
fn what_is_remembered_is_not_read_again() {
    let mut core = core();
    assert_eq!(read(&mut core, 0.0, 0), Miss);
    core.remember(
        &request(0, R, 100, 5),
        Instant::START + Span::from_ms(100.0),
    );
    assert_eq!(read(&mut core, 200.0, 100), Hit);
    assert_eq!(read(&mut core, 300.0, 120), Miss);
}

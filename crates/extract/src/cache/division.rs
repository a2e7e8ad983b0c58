//! How what was measured of times is divided between commands and the mechanism.
//!
//! Single requests show sums only ([`crate::timing`]). Two divisions of the same sums differ where
//! a transfer continues to another track, which waits for the head except for no settling, and where the
//! write cache takes a write in, whose arm moves although no miss was processed.

use std::sync::Arc;

use diskarm_core::geometry::Layout;
use diskarm_core::mechanics::Mechanism;
use diskarm_core::spec::{Overheads, SeekCurve, Spec};
use diskarm_core::units::{Angle, Lbn, Span};

use super::vector::Area;
use crate::threshold::span;

/// A way to divide times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cut {
    /// Transfers continue to the next track and lose no revolution: of what a request on another track
    /// of the cylinder takes, a part is the time to settle.
    pub eager: bool,
    /// The time to settle on a track, which is part of seeks and not of commands.
    pub settle: Span,
}

impl Cut {
    /// Overheads of commands that were so `before`.
    pub fn overheads(self, overheads: &Overheads, before: Self) -> Overheads {
        let mut overheads = overheads.clone();
        let less = self.settle - before.settle;
        for miss in [
            &mut overheads.read_miss_after_read,
            &mut overheads.read_miss_after_write,
            &mut overheads.write_miss_after_read,
            &mut overheads.write_miss_after_write,
        ] {
            *miss -= less;
        }
        if let Some(extra) = &mut overheads.extra_write_disconnect {
            extra.command -= less;
        }
        overheads
    }
}

pub(super) struct Division {
    /// What is known, with movements that take a little less time. Tracks are skewed by what
    /// movements take, and a model whose movements take longer by less than can be measured would
    /// wait a revolution more at the end of each track.
    known: Spec,
    layout: Arc<Layout>,
    /// What a transfer may take to continue to another track, before a write and in all.
    room: Option<Span>,
    pub cut: Cut,
}

impl Division {
    pub fn new(known: &Spec, layout: Layout, margin: Span) -> Self {
        let mut known = known.clone();
        known.mechanics.head_switch = (known.mechanics.head_switch - margin).or_zero();
        move_seeks(&mut known, -margin);
        let skew = least_skew(&layout, known.mechanics.period_ns);
        Self {
            room: skew.map(|skew| skew - margin),
            known,
            layout: Arc::new(layout),
            cut: Cut::default(),
        }
    }

    /// The mechanism, so divided.
    pub fn mechanism(&self) -> Mechanism {
        let mut spec = self.known.clone();
        let settle = self.cut.settle;
        move_seeks(&mut spec, settle);
        let mechanics = &mut spec.mechanics;
        mechanics.track_settle += settle;
        mechanics.cylinder_settle += settle;
        if let Some(room) = self.room.filter(|_| self.cut.eager) {
            let before_write = mechanics.write_settle.max(Span::ZERO);
            let excess = (mechanics.head_switch - (room - before_write).or_zero()).or_zero();
            mechanics.head_switch -= excess;
            mechanics.cylinder_settle += excess;
        }
        Mechanism::new(&spec, self.layout.clone(), Angle::ZERO)
    }

    pub fn others(&self, overheads: &Overheads) -> Vec<Cut> {
        let now = self.cut;
        let near = [-50.0, -20.0, -10.0, 10.0, 20.0, 50.0].map(|us| now.settle + Span::from_us(us));
        let far = (0..16).map(|tenth| Span::from_us(100.0 * f64::from(tenth)));
        let min = [
            overheads.read_miss_after_read,
            overheads.read_miss_after_write,
            overheads.write_miss_after_read,
            overheads.write_miss_after_write,
        ]
        .into_iter()
        .min()
        .unwrap_or(Span::ZERO);
        let max = now.settle + min;
        let settles = near.into_iter().chain(far);
        let settles = settles.filter(|settle| *settle >= Span::ZERO && *settle <= max);
        let mut cuts: Vec<Cut> = settles.map(|settle| Cut { settle, ..now }).collect();
        cuts.push(Cut {
            eager: !now.eager,
            ..now
        });
        cuts.retain(|cut| *cut != now);
        cuts
    }
}

/// Makes all seeks longer.
fn move_seeks(spec: &mut Spec, by: Span) {
    let mechanics = &mut spec.mechanics;
    for curve in std::iter::once(&mut mechanics.seek).chain(&mut mechanics.write_seek) {
        if let SeekCurve::Table(points) = curve {
            for (_, time) in points {
                *time = (*time + by).or_zero();
            }
        }
    }
}

/// The shortest time from the end of a track to the beginning of the next one on the cylinder.
fn least_skew(layout: &Layout, period_ns: f64) -> Option<Span> {
    const PLACES: u64 = 32;
    let blocks = layout.sectors().0;
    let skew = |place: u64| {
        let cylinder = layout.extent(Lbn(blocks * place / PLACES)).cylinder.0;
        let area = Area::on(layout, cylinder, false)?;
        let [track, next] = [0, 1].map(|k| layout.extent(area.tracks[k]));
        if track.cylinder != next.cylinder || !area.is_whole(layout) {
            return None;
        }
        let turns = next.start.as_revolutions()
            - track.start.as_revolutions()
            - track.sector_angle.as_revolutions() * track.sectors.0 as f64;
        Some(span(turns.rem_euclid(1.0) * period_ns))
    };
    (0..PLACES).filter_map(skew).min()
}

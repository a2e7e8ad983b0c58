//! Rigid disk geometry.

use diskarm_wire::mode::Geometry;

use super::{Row, View, any, nothing};
use crate::command::rotation_rate;

pub(super) const ROW: Row = Row {
    code: Geometry::CODE,
    values: |view| Some(values(view)?.emit().to_vec()),
    mask: nothing::<{ Geometry::LENGTH }>,
    check: any,
};

fn values(view: &View<'_>) -> Option<Geometry> {
    let (spec, layout) = view.drive?;
    Some(Geometry {
        cylinders: layout.cylinders(),
        heads: layout.surfaces() as u8,
        landing_zone: 0,
        position_locking: 0,
        rotational_offset: 0,
        rotation_rate: match (view.realism.nominal, rotation_rate(spec)) {
            // To the nearest ten: 5411 is sold as 5410 revolutions a minute.
            (true, rate) => (rate + 5) / 10 * 10,
            (false, rate) => rate,
        },
    })
}

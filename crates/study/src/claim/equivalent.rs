//! Two sides have the same metric, except for a share.

use std::sync::Arc;

use super::CheckInfo;
use super::bounds::Bounds;
use super::ratio::{MEAN_OVER, OF, Ratio, TO};
use super::subject::{METRIC, Subject, WHERE};

pub(super) const INFO: CheckInfo = CheckInfo {
    name: "equivalent",
    holds: "the metric of `of` and that of `to` differ by at most a share, whichever is the base",
    keys: &[
        METRIC,
        OF,
        TO,
        WHERE,
        (
            "within",
            "the share: with `\"25 %\"` the ratio is between 0.8 and 1.25",
        ),
        MEAN_OVER,
    ],
    read: |keys| {
        let within = keys.share("within")?.filter(|share| *share > 0.0);
        let within = within.ok_or_else(|| keys.missing("within", "a percentage above 0"))?;
        let subject = Subject {
            metric: keys.metric()?,
            cells: keys.selection("where")?,
            bounds: Bounds {
                at_least: Some(1.0 / (1.0 + within)),
                at_most: Some(1.0 + within),
                tie: 0.0,
            },
        };
        Ok(Arc::new(Ratio::of(subject, keys)?))
    },
};

//! How findings are written in a checkpoint, where their types do not say so themselves.

/// A layout: as the text of a specification.
pub(crate) mod geometry {
    use diskarm_core::spec::{self, Geometry, Mechanics, SeekCurve, Source, Spec};
    use diskarm_core::units::Span;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(geometry: &Geometry, to: S) -> Result<S::Ok, S::Error> {
        // A specification needs these too.
        let any = "layout".to_owned();
        let spec = Spec {
            name: any.clone(),
            summary: any.clone(),
            source: Source {
                origin: any,
                ..Source::default()
            },
            geometry: geometry.clone(),
            mechanics: Mechanics {
                period_ns: 1e7,
                seek: SeekCurve::Table(vec![(1, Span::ZERO)]),
                ..Mechanics::default()
            },
            ..Spec::default()
        };
        diskarm_rewrite::specification(&spec, &|_| None).serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Geometry, D::Error> {
        let text = String::deserialize(from)?;
        let spec = spec::parse(&text, "layout").map_err(D::Error::custom)?;
        Ok(spec.geometry)
    }
}

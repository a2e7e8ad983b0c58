//! A closed system.

use super::{Args, Call, Deterministic, GeneratorInfo, InputError, Pauses};
use crate::text::quantity;
use crate::units::Span;

/// Clients that each wait for their request, think, and issue the next. All issue one at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// The multiprogramming level; at least one.
    pub clients: usize,
    /// Times from a completion to the client's next request.
    pub think: Pauses,
}

const MAX_CLIENTS: u64 = 10_000_000;

impl Closed {
    pub(super) const INFO: GeneratorInfo = GeneratorInfo {
        name: "closed",
        summary: "clients, each of which issues a request when its previous one is completed",
        parameters: &[
            ("clients=64", "the multiprogramming level"),
            (
                "think=3ms",
                "pause before a client's next request, a time or pauses such as poisson(mean=3ms); \
                 none by default",
            ),
        ],
        origin: "lumb01, experimental setup; worthington96 section 6",
    };

    pub(super) fn read(args: &mut Args<'_>) -> Result<Self, InputError> {
        let clients = args.count("clients", 1..=MAX_CLIENTS)? as usize;
        let disk = args.context;
        let field = args.field("think");
        let think = args.maybe("think", "", |text| Some(text.to_owned()))?;
        let think = match think.as_deref() {
            None => Pauses::Deterministic(Deterministic { mean: Span::ZERO }),
            Some(text) if text.contains('(') => {
                let call = Call::read(text, &field)?;
                let mut own = Args::new(&call, disk);
                let known: Vec<&str> = Pauses::INFOS.iter().map(|info| info.name).collect();
                let read = Pauses::read(&call, &mut own).unwrap_or_else(|| {
                    Err(InputError::unknown(&field, call.name, "pauses", &known))
                })?;
                own.finish()?;
                read
            }
            Some(text) => {
                let mean = quantity::span(text).filter(|span| *span >= Span::ZERO);
                let expected = "a time from 0 to an hour with its unit, such as \"5 ms\", or \
                                pauses such as poisson(mean=5ms)";
                let mean = mean.ok_or_else(|| InputError::new(&field, text, expected))?;
                Pauses::Deterministic(Deterministic { mean })
            }
        };
        Ok(Self { clients, think })
    }
}

//! What makes a simulated drive harder to measure, as parameters of its URL.

use diskarm_core::text::{Args, Call, InputError};
use diskarm_emulate::{Places, Realism};

/// The parameters, for the help.
pub const HELP: &str = "\
Parameters in parentheses make it more like a real drive and its host, \
sim:hp-c2247(noise=0.1ms, places=notches):
- noise: standard deviation of the instants at which commands are seen to end
- places: how it tells where blocks are: translated, by TRANSLATE ADDRESS (the default); notches, \
by notch pages and READ CAPACITY; hidden, in no way
- nominal=yes: its mode pages have nominal values, which are not its own
- adaptive=yes: it chooses its buffer ratios itself";

/// Divides what follows `sim:` into the drive and what is in parentheses after it.
pub fn of(url: &str) -> Result<(&str, Realism), InputError> {
    let parameters = |url| str::strip_suffix(url, ")").and_then(|url| url.rsplit_once('('));
    let Some((drive, parameters)) = parameters(url) else {
        if url.contains('(') && !url.ends_with(".toml") {
            let message = format!("URL: found {url:?}, expected a parenthesis at its end");
            return Err(InputError::message(message));
        }
        return Ok((url, Realism::default()));
    };
    let call = format!("sim({parameters})");
    let call = Call::read(&call, "URL")?;
    let mut args = Args::of(&call, ());
    let expected = "translated, notches or hidden";
    let places = args.maybe("places", expected, |word| match word {
        "translated" => Some(Places::Translated),
        "notches" => Some(Places::Notches),
        // The name until 0.1.
        "hidden" | "untold" => Some(Places::Untold),
        _ => None,
    })?;
    let realism = Realism {
        noise: args.time_or_none("noise")?,
        places: places.unwrap_or_default(),
        nominal: args.maybe_yes("nominal")?.unwrap_or_default(),
        adaptive_ratios: args.maybe_yes("adaptive")?.unwrap_or_default(),
        ..Realism::default()
    };
    args.finish()?;
    Ok((drive, realism))
}

#[cfg(test)]
mod tests {
    use diskarm_core::units::Span;

    use super::*;

    #[test]
    fn parameters_stand_in_parentheses() {
        for name in ["hp-c2247", "./a(1).toml"] {
            assert_eq!(of(name), Ok((name, Realism::default())));
        }
        let (drive, realism) = of("./a.toml(noise=0.1ms, places=hidden)").unwrap();
        assert_eq!(drive, "./a.toml");
        assert_eq!(realism.noise, Span::from_us(100.0));
        assert_eq!(realism.places, Places::Untold);
        for wrong in ["a(noise=1)", "a(places=here)", "a(hum=1ms)", "a(noise=1ms"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}

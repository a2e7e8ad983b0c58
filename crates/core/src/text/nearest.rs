//! Suggestions for misspelt names.

/// The known name that differs from `written` in at most a third of its letters, where two
/// swapped letters count as one.
pub fn nearest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let distances = known
        .iter()
        .map(|name| (strsim::osa_distance(written, name), *name));
    let (distance, name) = distances.min()?;
    (distance * 3 <= name.len()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_letters_may_differ() {
        let known = ["rotation", "seek"];
        assert_eq!(nearest("roattion", &known), Some("rotation"));
        assert_eq!(nearest("rotat", &known), None);
        assert_eq!(nearest("seak", &known), Some("seek"));
        assert_eq!(nearest("suck", &known), None);
    }
}

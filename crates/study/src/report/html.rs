//! HTML that is also well-formed XML, in which outside text cannot become markup.

/// A piece of a page. Text enters it only through [`Html::text`], which escapes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Html(String);

impl Html {
    /// Text from anywhere.
    pub fn text(words: &str) -> Self {
        let mut escaped = String::with_capacity(words.len());
        for c in words.chars() {
            match c {
                '&' => escaped += "&amp;",
                '<' => escaped += "&lt;",
                '>' => escaped += "&gt;",
                '"' => escaped += "&quot;",
                '\n' | '\t' => escaped.push(c),
                // XML cannot contain them.
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                    escaped.push('\u{fffd}');
                }
                c => escaped.push(c),
            }
        }
        Self(escaped)
    }

    /// A drawing or style sheet made by this program.
    pub fn of_our_own(markup: &str) -> Self {
        Self(markup.to_owned())
    }

    /// An element around `inside`.
    pub fn element(name: &str, inside: impl Into<Html>) -> Self {
        Self::with(name, &[], inside)
    }

    /// An element with attributes.
    pub fn with(name: &str, attributes: &[(&str, &str)], inside: impl Into<Html>) -> Self {
        let attributes = attributes.iter().map(|(key, value)| {
            let Self(value) = Self::text(value);
            format!(" {key}=\"{value}\"")
        });
        let attributes: String = attributes.collect();
        let Self(inside) = inside.into();
        Self(format!("<{name}{attributes}>{inside}</{name}>"))
    }

    /// The page.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl From<&str> for Html {
    fn from(words: &str) -> Self {
        Self::text(words)
    }
}

impl From<String> for Html {
    fn from(words: String) -> Self {
        Self::text(&words)
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(pieces: I) -> Self {
        Self(pieces.into_iter().map(|Self(piece)| piece).collect())
    }
}

impl<const N: usize> From<[Html; N]> for Html {
    fn from(pieces: [Html; N]) -> Self {
        pieces.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_never_markup() {
        let hostile = "</p><script>\"&\u{0}";
        let page = Html::with("p", &[("title", hostile)], hostile);
        let escaped = "&lt;/p&gt;&lt;script&gt;&quot;&amp;\u{fffd}";
        let expected = format!("<p title=\"{escaped}\">{escaped}</p>");
        assert_eq!(page.into_string(), expected);
    }
}

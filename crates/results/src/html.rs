//! HTML that is also well-formed XML, in which text from outside cannot become markup.

/// A piece of a page. Text enters it only through [`Html::text`], which escapes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Html(String);

impl Html {
    pub fn text(words: &str) -> Self {
        let mut escaped = String::with_capacity(words.len());
        for c in words.chars() {
            match c {
                '&' => escaped += "&amp;",
                '<' => escaped += "&lt;",
                '>' => escaped += "&gt;",
                '"' => escaped += "&quot;",
                '\n' | '\t' => escaped.push(c),
                // XML cannot contain these characters.
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                    escaped.push('\u{fffd}');
                }
                c => escaped.push(c),
            }
        }
        Self(escaped)
    }

    /// Embeds a drawing or style sheet made by this program.
    pub fn raw(markup: &str) -> Self {
        Self(markup.to_owned())
    }

    pub fn element(name: &str, inside: impl Into<Html>) -> Self {
        Self::with(name, &[], inside)
    }

    pub fn with(name: &str, attributes: &[(&str, &str)], inside: impl Into<Html>) -> Self {
        let attributes = attributes.iter().map(|(key, value)| {
            let Self(value) = Self::text(value);
            format!(" {key}=\"{value}\"")
        });
        let attributes: String = attributes.collect();
        let Self(inside) = inside.into();
        Self(format!("<{name}{attributes}>{inside}</{name}>"))
    }

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

/// A section of a page: its id, its heading and its content.
pub type Section = (&'static str, &'static str, Html);

/// Creates a page that needs no other files, with links to its sections.
pub fn page(title: &str, head: Html, sections: Vec<Section>) -> String {
    let links = sections
        .iter()
        .map(|(id, heading, _)| Html::with("a", &[("href", &format!("#{id}"))], *heading));
    let links = Html::element("nav", links.collect::<Html>());
    let sections = sections.into_iter().map(|(id, heading, inside)| {
        let parts = [Html::element("h2", heading), inside];
        Html::with("section", &[("id", id)], parts)
    });
    let head_of_page = Html::from([
        Html::raw(
            "<meta charset=\"utf-8\"/>\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>",
        ),
        Html::element("title", title),
        Html::element("style", Html::raw(&style())),
    ]);
    let body = Html::from([head, links, sections.collect()]);
    let parts = [
        Html::element("head", head_of_page),
        Html::element("body", [Html::element("main", body), script()]),
    ];
    let page = Html::with("html", &[("lang", "en")], parts);
    format!("<!DOCTYPE html>\n{}\n", page.into_string())
}

/// Returns the style sheet for pages, and for drawings on dark pages.
fn style() -> String {
    let dark = diskarm_plot::dark_style("figure svg");
    let styles = include_str!("style.css");
    format!("{styles}@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n")
}

/// Returns the script for interactive charts, in CDATA: in XML, `<` and `&` are markup.
fn script() -> Html {
    let script = include_str!("script.js");
    Html::element("script", Html::raw(&format!("//<![CDATA[\n{script}//]]>")))
}

/// Makes a table scrollable, also with the keyboard, if it is wider than the page.
pub fn wide(table: Html) -> Html {
    Html::with("div", &[("class", "wide"), ("tabindex", "0")], table)
}

/// Creates a drawing above a caption. The style sheet selects its wide or its narrow form.
pub fn figure(id: &str, [wide, narrow]: [&str; 2], caption: impl Into<Html>) -> Html {
    let drawings = [("wide", wide), ("narrow", narrow)].map(|(class, svg)| {
        let class = format!("drawn {class}");
        Html::with("div", &[("class", &class)], Html::raw(svg))
    });
    let parts = [drawings.into(), Html::element("figcaption", caption)];
    Html::with("figure", &[("id", id)], parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let hostile = "</p><script>\"&\u{0}";
        let page = Html::with("p", &[("title", hostile)], hostile);
        let escaped = "&lt;/p&gt;&lt;script&gt;&quot;&amp;\u{fffd}";
        let expected = format!("<p title=\"{escaped}\">{escaped}</p>");
        assert_eq!(page.into_string(), expected);
    }
}

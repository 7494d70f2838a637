//! The kind of markup of a document.

/// Kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// HTML. The shim is put before all other content.
    Page,
    /// XHTML. As for HTML, but every element can be empty, and declarations that would keep the
    /// shim from running are removed.
    Xhtml,
    /// A drawing or other XML.
    Xml,
}

/// Returns the kind of markup of an XML document, by its root element, or `None` if it is neither
/// XHTML nor a drawing. `start` is the beginning of the document, in a superset of ASCII.
pub fn xml_markup(start: &[u8]) -> Option<Markup> {
    let text = String::from_utf8_lossy(start);
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    // Skip items before the root element: instructions, comments, a document type (with
    // declarations in brackets).
    loop {
        let end = match rest {
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<!") => match rest.find(['[', '>']) {
                Some(at) if rest.as_bytes()[at] == b'[' => "]>",
                _ => ">",
            },
            _ => break,
        };
        rest = rest.split_once(end)?.1.trim_start();
    }
    let (tag, _) = rest.strip_prefix('<')?.split_once('>')?;
    let (name, attributes) = tag.split_once(|c: char| c.is_whitespace())?;
    let is_of = |namespace: &str| attributes.contains(namespace);
    match name.rsplit(':').next() {
        Some("html") if is_of("http://www.w3.org/1999/xhtml") => Some(Markup::Xhtml),
        Some("svg") if is_of("http://www.w3.org/2000/svg") => Some(Markup::Xml),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_element_tells_pages_and_drawings() {
        let page = "<html lang='de'\n xmlns=\"http://www.w3.org/1999/xhtml\">";
        for before in [
            "",
            "\u{feff}<?xml version='1.0'?>\n",
            "<!-- <html> --><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x'>",
            "<!DOCTYPE html [ <!ENTITY a '>'> ]> ",
        ] {
            assert_eq!(
                xml_markup(format!("{before}{page}").as_bytes()),
                Some(Markup::Xhtml),
                "{before}"
            );
        }
        assert_eq!(
            xml_markup(b"<svg:svg xmlns:svg='http://www.w3.org/2000/svg'>"),
            Some(Markup::Xml)
        );
        for other in [
            "",
            "<rss version='2.0'>",
            "<html>",
            "<html lang='x'>",
            "<!-- ",
            "html",
            "<?xml",
        ] {
            assert_eq!(xml_markup(other.as_bytes()), None, "{other}");
        }
    }
}

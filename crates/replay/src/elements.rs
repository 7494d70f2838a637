//! Attributes that contain references, and their use (HTML, SVG 2, and older versions that browsers
//! still support).

use crate::address::Modifier;
use crate::references::Role;

/// How a browser uses the value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttributeUse {
    /// A reference. The modifier is the form in which its target is shown, and the role is its
    /// purpose for the page.
    Reference(Modifier, Role),
    /// Several pictures (`srcset`).
    Pictures,
    /// CSS.
    Style,
    /// A script.
    Script,
    /// A separate HTML document.
    Document,
    /// The frame or window that a link opens in.
    Target,
    /// Useless in an archive, and removed: its target is not captured, or it describes bytes that
    /// rewriting changes.
    LeftOut,
}

/// Returns how the attribute `name` of the element `tag` is used, both in lower case, or `None` if
/// it contains no reference. `link` is the use of the element's `rel`.
pub(crate) fn used(tag: &str, name: &str, link: Modifier) -> Option<AttributeUse> {
    let part = |modifier| Some(AttributeUse::Reference(modifier, Role::Part));
    let link_to = |modifier| Some(AttributeUse::Reference(modifier, Role::Link));
    match (tag, name) {
        (_, "style") => Some(AttributeUse::Style),
        // Presentation attributes of drawings that accept `url()` (SVG 2, section 6.6).
        (
            _,
            "fill" | "stroke" | "filter" | "mask" | "clip-path" | "marker-start" | "marker-mid"
            | "marker-end" | "cursor",
        ) => Some(AttributeUse::Style),
        // Event handlers (HTML, section 8.1.8.1). No other attribute has this prefix.
        (_, name) if name.starts_with("on") => Some(AttributeUse::Script),
        (_, "integrity" | "ping" | "nonce") | ("html", "manifest") => Some(AttributeUse::LeftOut),
        ("a" | "area" | "form" | "base", "target") | ("input" | "button", "formtarget") => {
            Some(AttributeUse::Target)
        }
        ("a" | "area", "href" | "xlink:href") => link_to(Modifier::Page),
        ("script", "src" | "href" | "xlink:href") => part(Modifier::Script),
        ("link", "href") if link == Modifier::Page => link_to(link),
        ("link", "href") => part(link),
        ("iframe" | "frame" | "embed", "src") | ("object", "data") => part(Modifier::Page),
        ("iframe", "srcdoc") => Some(AttributeUse::Document),
        ("form", "action") | ("input" | "button", "formaction") => link_to(Modifier::Page),
        ("img", "longdesc") | ("object" | "applet", "codebase") => link_to(Modifier::Image),
        // One of several formats of a film or a picture.
        ("source", "src") => Some(AttributeUse::Reference(Modifier::Image, Role::Alternative)),
        ("img" | "source", "srcset") | ("link", "imagesrcset") => Some(AttributeUse::Pictures),
        ("img" | "input" | "audio" | "video" | "track" | "bgsound", "src")
        | ("img", "lowsrc" | "dynsrc")
        | ("video", "poster")
        | ("body" | "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th", "background") => {
            part(Modifier::Image)
        }
        // Among the remaining elements only those of drawings have it: pictures, patterns, symbols
        // of other files.
        (_, "xlink:href") => part(Modifier::Image),
        (
            "image" | "use" | "feimage" | "pattern" | "lineargradient" | "radialgradient" | "mpath"
            | "textpath",
            "href",
        ) => part(Modifier::Image),
        _ => None,
    }
}

/// Returns the modifier of a link, by its `rel` and its destination. Returns `None` for links that
/// only open connections or prefetch. They are removed, because a browser follows them without
/// checking the policy of the page.
pub(crate) fn link(rel: &str, destination: &str) -> Option<Modifier> {
    let words = || rel.split_ascii_whitespace().map(str::to_ascii_lowercase);
    if words().any(|word| {
        matches!(
            word.as_str(),
            "preconnect" | "dns-prefetch" | "prefetch" | "prerender" | "serviceworker"
        )
    }) {
        return None;
    }
    let has = |known: &str| words().any(|word| word == known);
    Some(match destination {
        "style" => Modifier::Style,
        "script" | "worker" => Modifier::Script,
        "document" => Modifier::Page,
        _ if has("stylesheet") => Modifier::Style,
        _ if has("modulepreload") => Modifier::Script,
        _ if has("icon") || has("preload") || has("manifest") || has("apple-touch-icon") => Modifier::Image,
        _ => Modifier::Page,
    })
}

/// Returns the URL of a `meta` with `refresh` (HTML, section 4.2.5.3), and the text before it.
pub(crate) fn refresh(content: &str) -> Option<(&str, &str)> {
    let delay = content
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c.is_ascii_whitespace()))
        .unwrap_or(content.len());
    let rest = content[delay..].trim_start_matches(|c: char| c == ';' || c == ',' || c.is_ascii_whitespace());
    let rest = match rest.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("url") => {
            let after = rest[3..].trim_ascii_start();
            after.strip_prefix('=').map_or(rest, str::trim_ascii_start)
        }
        _ => rest,
    };
    let url = match rest.chars().next() {
        Some(mark @ ('"' | '\'')) => rest[1..].split(mark).next().unwrap_or(""),
        _ => rest.trim_ascii_end(),
    };
    if url.is_empty() {
        return None;
    }
    let begin = url.as_ptr() as usize - content.as_ptr() as usize;
    Some((&content[..begin], url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_refresh_is_found() {
        for (content, expected) in [
            ("5", None),
            ("0;url=/x", Some(("0;url=", "/x"))),
            ("0; URL = '/x' ", Some(("0; URL = '", "/x"))),
            ("3,/x?url=y", Some(("3,", "/x?url=y"))),
            ("0;urls", Some(("0;", "urls"))),
            ("0.5 ;url=\"a b\"c", Some(("0.5 ;url=\"", "a b"))),
            ("", None),
        ] {
            assert_eq!(refresh(content), expected, "{content}");
        }
    }

    #[test]
    fn links_that_only_connect_are_left_out() {
        assert_eq!(link("DNS-prefetch", ""), None);
        assert_eq!(link("preload", "style"), Some(Modifier::Style));
        assert_eq!(link("alternate stylesheet", ""), Some(Modifier::Style));
        assert_eq!(link("shortcut icon", ""), Some(Modifier::Image));
        assert_eq!(link("next", ""), Some(Modifier::Page));
    }
}

//! Lists the elements and attributes of archived HTML that are kept.
//!
//! Attributes are kept by name from a list, because a browser may open a connection for an
//! attribute unknown to this program before it checks the policy. No attribute on the list contains
//! an address. The few that may contain one are [`AttributeUse`]s and are checked one by one.

/// How an element is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementRule {
    /// Keep it, with those attributes that are kept.
    Keep,
    /// Remove its tags and keep its content.
    Unwrap,
    /// Remove it with its content.
    Drop,
    /// Shows another document. A link to that document, with this word as its label, replaces the
    /// element, and its content is removed.
    Frame(&'static str),
    /// Like `Frame`, but its content is kept, as a browser does if it cannot show the document.
    Embedded(&'static str),
    /// Contains CSS.
    Style,
    /// Contains preformatted text. The element is obsolete, so it is written as `pre`.
    Preformatted,
}

/// Returns how the element `name` (in lower case) is rewritten.
pub(super) fn element_rule(name: &[u8]) -> ElementRule {
    match name {
        // Without scripts a template is never shown.
        b"script" | b"noembed" | b"template" => ElementRule::Drop,
        b"base" | b"link" | b"meta" | b"param" | b"frameset" | b"noframes" => ElementRule::Unwrap,
        b"iframe" | b"portal" | b"fencedframe" => ElementRule::Frame("Frame"),
        b"frame" => ElementRule::Embedded("Frame"),
        b"object" | b"embed" | b"applet" => ElementRule::Embedded("Embedded"),
        b"style" => ElementRule::Style,
        b"xmp" | b"plaintext" => ElementRule::Preformatted,
        _ if is_plain(name) => ElementRule::Keep,
        _ => ElementRule::Unwrap,
    }
}

/// Returns whether a name can be written unchanged, because no character in it can end or begin a
/// tag.
fn is_plain(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    name.first().is_some_and(u8::is_ascii_lowercase) && name.iter().all(plain)
}

/// Returns whether the element `name` has no end tag.
pub(super) fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"br"
            | b"col"
            | b"embed"
            | b"frame"
            | b"hr"
            | b"img"
            | b"input"
            | b"source"
            | b"track"
            | b"wbr"
    )
}

/// How a browser uses the value of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttributeUse {
    /// Not an address.
    Plain,
    /// Target of a click.
    Link,
    /// A place in the same page.
    Fragment,
    /// A picture, kept if the address contains the picture itself.
    Picture,
    /// The document in a frame.
    Frame,
}

/// Returns how the attribute `name` of the element `element` is used, both in lower case. Returns
/// `None` if it is not kept.
pub(super) fn attribute_use(element: &[u8], name: &[u8]) -> Option<AttributeUse> {
    Some(match (element, name) {
        (b"a" | b"area", b"href" | b"xlink:href") => AttributeUse::Link,
        (b"image", b"href" | b"xlink:href") | (b"img", b"src") => AttributeUse::Picture,
        // A `base` is read, but never written.
        (b"base", b"href") => AttributeUse::Plain,
        (_, b"href" | b"xlink:href") => AttributeUse::Fragment,
        (b"frame" | b"iframe" | b"embed" | b"portal" | b"fencedframe", b"src") | (b"object", b"data") => {
            AttributeUse::Frame
        }
        _ if is_kept(name) => AttributeUse::Plain,
        _ => return None,
    })
}

fn is_kept(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    let suffix = name.strip_prefix("data-").or_else(|| name.strip_prefix("aria-"));
    match suffix {
        Some(suffix) => is_plain(suffix.as_bytes()),
        None => KEPT.iter().any(|list| list.binary_search(&name).is_ok()),
    }
}

/// Attributes that contain no address. Each list is sorted for binary search.
const KEPT: [&[&str]; 3] = [HTML, SVG, MATHML];

const HTML: &[&str] = &[
    "abbr",
    "align",
    "alink",
    "alt",
    "axis",
    "bgcolor",
    "border",
    "bordercolor",
    "bottommargin",
    "cellpadding",
    "cellspacing",
    "char",
    "charoff",
    "checked",
    "class",
    "clear",
    "color",
    "cols",
    "colspan",
    "compact",
    "coords",
    "datetime",
    "dir",
    "direction",
    "disabled",
    "face",
    "frame",
    "headers",
    "height",
    "hidden",
    "high",
    "hspace",
    "id",
    "kind",
    "label",
    "lang",
    "leftmargin",
    "link",
    "low",
    "marginheight",
    "marginwidth",
    "max",
    "media",
    "min",
    "multiple",
    "name",
    "noshade",
    "nowrap",
    "open",
    "optimum",
    "placeholder",
    "readonly",
    "reversed",
    "rightmargin",
    "role",
    "rows",
    "rowspan",
    "rules",
    "scope",
    "selected",
    "shape",
    "size",
    "span",
    "start",
    "style",
    "summary",
    "text",
    "title",
    "topmargin",
    "type",
    "usemap",
    "valign",
    "value",
    "vlink",
    "vspace",
    "width",
    "wrap",
    "xml:lang",
];

const SVG: &[&str] = &[
    "alignment-baseline",
    "baseline-shift",
    "clip-path",
    "clip-rule",
    "clippathunits",
    "color-interpolation",
    "color-interpolation-filters",
    "cx",
    "cy",
    "d",
    "display",
    "dominant-baseline",
    "dx",
    "dy",
    "fill",
    "fill-opacity",
    "fill-rule",
    "filter",
    "filterunits",
    "flood-color",
    "flood-opacity",
    "font-family",
    "font-size",
    "font-style",
    "font-variant",
    "font-weight",
    "fr",
    "fx",
    "fy",
    "gradienttransform",
    "gradientunits",
    "image-rendering",
    "in",
    "in2",
    "lengthadjust",
    "letter-spacing",
    "marker-end",
    "marker-mid",
    "marker-start",
    "markerheight",
    "markerunits",
    "markerwidth",
    "mask",
    "maskcontentunits",
    "maskunits",
    "mode",
    "offset",
    "opacity",
    "operator",
    "orient",
    "overflow",
    "paint-order",
    "pathlength",
    "patterncontentunits",
    "patterntransform",
    "patternunits",
    "points",
    "preserveaspectratio",
    "primitiveunits",
    "r",
    "refx",
    "refy",
    "result",
    "rotate",
    "rx",
    "ry",
    "shape-rendering",
    "spreadmethod",
    "startoffset",
    "stddeviation",
    "stop-color",
    "stop-opacity",
    "stroke",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-miterlimit",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
    "text-decoration",
    "text-rendering",
    "textlength",
    "transform",
    "unicode-bidi",
    "values",
    "vector-effect",
    "viewbox",
    "visibility",
    "word-spacing",
    "writing-mode",
    "x",
    "x1",
    "x2",
    "xml:space",
    "y",
    "y1",
    "y2",
];

const MATHML: &[&str] = &[
    "accent",
    "accentunder",
    "close",
    "columnalign",
    "columnlines",
    "columnspacing",
    "displaystyle",
    "fence",
    "linethickness",
    "lspace",
    "mathbackground",
    "mathcolor",
    "mathsize",
    "mathvariant",
    "maxsize",
    "minsize",
    "movablelimits",
    "notation",
    "rowalign",
    "rowlines",
    "rowspacing",
    "rspace",
    "scriptlevel",
    "separator",
    "separators",
    "stretchy",
    "symmetric",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_order_and_hold_no_attribute_with_an_address() {
        for list in KEPT {
            assert!(list.is_sorted_by(|a, b| a < b));
        }
        for name in [
            "src",
            "srcset",
            "srcdoc",
            "imagesrcset",
            "poster",
            "background",
            "action",
            "formaction",
            "ping",
            "data",
            "codebase",
            "classid",
            "archive",
            "code",
            "cite",
            "longdesc",
            "manifest",
            "profile",
            "dynsrc",
            "lowsrc",
            "icon",
            "target",
            "rel",
            "http-equiv",
            "content",
            "attributename",
            "to",
            "from",
            "by",
            "onclick",
            "xmlns",
            "is",
            "shadowrootmode",
            "data-<x",
            "aria-",
            "nonesuch",
        ] {
            assert_eq!(attribute_use(b"div", name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn addresses_have_their_element() {
        let check = |element: &str, name: &str, expected| {
            assert_eq!(
                attribute_use(element.as_bytes(), name.as_bytes()),
                expected,
                "{element} {name}"
            );
        };
        check("a", "href", Some(AttributeUse::Link));
        check("use", "xlink:href", Some(AttributeUse::Fragment));
        check("link", "href", Some(AttributeUse::Fragment));
        check("img", "src", Some(AttributeUse::Picture));
        check("input", "src", None);
        check("iframe", "src", Some(AttributeUse::Frame));
        check("object", "data", Some(AttributeUse::Frame));
        check("div", "data-theme", Some(AttributeUse::Plain));
    }

    #[test]
    fn names_that_could_break_out_are_not_written() {
        for name in ["p<b", "svg:a", "\u{e4}", "1", ""] {
            assert_eq!(element_rule(name.as_bytes()), ElementRule::Unwrap, "{name}");
        }
        assert_eq!(element_rule(b"x-card"), ElementRule::Keep);
    }
}

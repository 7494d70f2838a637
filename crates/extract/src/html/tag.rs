//! What each element means to a reader of links and text.

/// Elements that are treated by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Anchor,
    Area,
    Base,
    Body,
    Head,
    Html,
    Image,
    Link,
    Meta,
    Noscript,
    /// Everything after it is text.
    Plaintext,
    /// `title` of the page, or the tooltip of a drawing.
    Title,
    /// Text up to its end tag that nobody sees: `script`.
    Script,
    /// The same without script's escapes: `style`, `iframe`, `noembed`, `noframes`.
    HiddenRaw,
    /// What the reader would type: `textarea`.
    Textarea,
    /// Visible raw text: `xmp`.
    Raw,
    /// `svg`, `math`.
    Foreign,
    /// `desc` and `metadata` of a drawing, `annotation` of a formula.
    ForeignNote,
    Template,
    Other,
}

/// White space that an element's tags stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    None,
    Blank,
    Line,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) kind: Kind,
    pub(super) gap: Gap,
    /// Whether its start tag ends an `svg` or `math` that was left open (HTML standard, 13.2.6.5).
    pub(super) ends_foreign: bool,
}

impl Tag {
    /// `name` in lower case.
    pub(super) fn of(name: &[u8]) -> Tag {
        let inline = |kind| Tag {
            kind,
            gap: Gap::None,
            ends_foreign: false,
        };
        let spaced = |kind, ends_foreign| Tag {
            kind,
            gap: Gap::Blank,
            ends_foreign,
        };
        let block = |kind, ends_foreign| Tag {
            kind,
            gap: Gap::Line,
            ends_foreign,
        };
        match name {
            b"a" => inline(Kind::Anchor),
            b"area" => inline(Kind::Area),
            b"base" => inline(Kind::Base),
            b"link" => inline(Kind::Link),
            b"meta" => Tag {
                kind: Kind::Meta,
                gap: Gap::None,
                ends_foreign: true,
            },
            b"html" => block(Kind::Html, false),
            b"head" => block(Kind::Head, true),
            b"body" => block(Kind::Body, true),
            b"title" => inline(Kind::Title),
            b"script" => inline(Kind::Script),
            b"style" | b"iframe" | b"noembed" | b"noframes" => inline(Kind::HiddenRaw),
            b"textarea" => spaced(Kind::Textarea, false),
            b"xmp" => block(Kind::Raw, false),
            b"plaintext" => block(Kind::Plaintext, false),
            b"noscript" => inline(Kind::Noscript),
            b"template" => inline(Kind::Template),
            b"svg" | b"math" => inline(Kind::Foreign),
            b"desc" | b"metadata" | b"annotation" => inline(Kind::ForeignNote),
            b"img" => spaced(Kind::Image, true),
            b"td" | b"th" | b"input" | b"button" | b"video" | b"audio" | b"object" | b"canvas" | b"rt"
            | b"rp" => spaced(Kind::Other, false),
            b"b" | b"big" | b"code" | b"em" | b"i" | b"nobr" | b"ruby" | b"s" | b"small" | b"span"
            | b"strong" | b"strike" | b"sub" | b"sup" | b"tt" | b"u" | b"var" => Tag {
                kind: Kind::Other,
                gap: Gap::None,
                ends_foreign: true,
            },
            b"embed" => spaced(Kind::Other, true),
            b"blockquote" | b"br" | b"center" | b"dd" | b"div" | b"dl" | b"dt" | b"h1" | b"h2" | b"h3"
            | b"h4" | b"h5" | b"h6" | b"hr" | b"li" | b"listing" | b"menu" | b"ol" | b"p" | b"pre"
            | b"table" | b"ul" => block(Kind::Other, true),
            b"address" | b"article" | b"aside" | b"caption" | b"details" | b"dialog" | b"dir"
            | b"fieldset" | b"figcaption" | b"figure" | b"footer" | b"form" | b"frameset" | b"header"
            | b"hgroup" | b"legend" | b"main" | b"nav" | b"optgroup" | b"option" | b"search" | b"section"
            | b"select" | b"summary" | b"tbody" | b"tfoot" | b"thead" | b"tr" => block(Kind::Other, false),
            _ => inline(Kind::Other),
        }
    }

    /// Whether its attributes are looked at.
    pub(super) fn has_wanted_attributes(self) -> bool {
        matches!(
            self.kind,
            Kind::Anchor | Kind::Area | Kind::Base | Kind::Html | Kind::Image | Kind::Link | Kind::Meta
        )
    }
}

//! The meaning of each element for links and text.

/// Elements that are treated by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Anchor,
    Area,
    Base,
    Figcaption,
    Figure,
    Html,
    Image,
    Link,
    Meta,
    Picture,
    /// `source` of a `picture` or of a video.
    Source,
    /// Everything after it is plain text.
    Plaintext,
    /// `title` of the page, or the tooltip of a drawing.
    Title,
    /// `script`: hidden text up to its end tag.
    Script,
    /// `style`, `iframe`, `noembed`, `noframes`: like `script`, without its escapes.
    HiddenRaw,
    /// `textarea`: text that the reader of the page may change.
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

/// The white space that the tags of an element cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    None,
    Blank,
    Line,
}

/// The treatment of an element by the tree builder of the HTML standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Never among the open elements and without effect on them: declarations, raw text, tags that
    /// a body ignores.
    Unseen,
    /// Empty, but part of the text: `img`.
    Void,
    /// Ends a paragraph and contains no elements: `hr`, raw text in a block.
    Rule,
    /// Any element without special rules.
    Inline,
    Noscript,
    /// `b` and the like: opened again after a block that closed them.
    Formatting,
    Anchor,
    Block,
    /// A block in which a list item still ends the previous one: `div`, `address`.
    WeakBlock,
    /// `ol`, `ul`: an `li` inside ends no `li` outside.
    List,
    Paragraph,
    Heading,
    Item,
    Definition,
    Form,
    Button,
    Select,
    /// `option`, `optgroup`.
    Choice,
    /// Parts of a `ruby`.
    Ruby,
    /// `object` and the like: formatting from outside has no effect inside.
    Embedded,
    Table,
    Caption,
    Column,
    RowGroup,
    Row,
    Cell,
}

impl Role {
    /// Returns whether end tags outside cannot close elements inside (the "in scope" of the
    /// standard).
    pub(super) fn ends_scope(self) -> bool {
        matches!(self, Role::Embedded | Role::Table | Role::Caption | Role::Cell)
    }

    /// Returns whether it stops the end tag of an ordinary or formatting element (the "special" of
    /// the standard).
    pub(super) fn is_special(self) -> bool {
        !matches!(
            self,
            Role::Inline | Role::Formatting | Role::Anchor | Role::Choice | Role::Ruby
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) kind: Kind,
    pub(super) gap: Gap,
    pub(super) role: Role,
    /// Whether its start tag ends an `svg` or `math` that was left open (HTML standard, 13.2.6.5).
    pub(super) ends_foreign: bool,
    /// See [`name_of`].
    pub(super) name: u32,
}

/// Returns a number (FNV-1a) for a name. Two names with the same number would close each other,
/// which harms only a page that invents such names.
pub(super) const fn name_of(name: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut at = 0;
    while at < name.len() {
        hash = (hash ^ name[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

impl Tag {
    /// Returns the meaning of the element `name`, which must be in lower case.
    pub(super) fn of(name: &[u8]) -> Tag {
        let (kind, gap, role) = meaning(name);
        Tag {
            kind,
            gap,
            role,
            ends_foreign: ends_foreign(name),
            name: name_of(name),
        }
    }

    /// Returns whether its content is raw text up to its end tag even in XML: real documents do not
    /// escape the content of `script` and `style`.
    pub(super) fn is_raw_in_xml(self) -> bool {
        self.name == name_of(b"script") || self.name == name_of(b"style")
    }

    /// Returns whether its attributes are used.
    pub(super) fn has_wanted_attributes(self) -> bool {
        matches!(
            self.kind,
            Kind::Anchor
                | Kind::Area
                | Kind::Base
                | Kind::Html
                | Kind::Image
                | Kind::Link
                | Kind::Meta
                | Kind::Source
        )
    }
}

fn meaning(name: &[u8]) -> (Kind, Gap, Role) {
    let inline = |kind, role| (kind, Gap::None, role);
    let spaced = |kind, role| (kind, Gap::Blank, role);
    let line = |kind, role| (kind, Gap::Line, role);
    match name {
        b"a" => inline(Kind::Anchor, Role::Anchor),
        b"area" => inline(Kind::Area, Role::Void),
        b"base" => inline(Kind::Base, Role::Unseen),
        b"link" => inline(Kind::Link, Role::Unseen),
        b"meta" => inline(Kind::Meta, Role::Unseen),
        b"html" => line(Kind::Html, Role::Unseen),
        b"head" | b"body" | b"frameset" => line(Kind::Other, Role::Unseen),
        b"title" => inline(Kind::Title, Role::Unseen),
        b"script" => inline(Kind::Script, Role::Unseen),
        b"style" | b"iframe" | b"noembed" | b"noframes" => inline(Kind::HiddenRaw, Role::Unseen),
        b"source" => inline(Kind::Source, Role::Unseen),
        b"param" | b"track" | b"frame" => inline(Kind::Other, Role::Unseen),
        b"textarea" => spaced(Kind::Textarea, Role::Unseen),
        b"xmp" => line(Kind::Raw, Role::Rule),
        b"plaintext" => line(Kind::Plaintext, Role::Rule),
        b"noscript" => inline(Kind::Other, Role::Noscript),
        b"template" => inline(Kind::Template, Role::Unseen),
        b"svg" | b"math" => inline(Kind::Foreign, Role::Void),
        b"desc" | b"metadata" | b"annotation" => inline(Kind::ForeignNote, Role::Inline),
        b"img" | b"image" => spaced(Kind::Image, Role::Void),
        b"input" | b"embed" => spaced(Kind::Other, Role::Void),
        b"wbr" | b"keygen" => inline(Kind::Other, Role::Void),
        b"br" => line(Kind::Other, Role::Void),
        b"hr" => line(Kind::Other, Role::Rule),
        b"video" | b"audio" | b"canvas" => spaced(Kind::Other, Role::Inline),
        b"rt" | b"rp" => spaced(Kind::Other, Role::Ruby),
        b"rb" | b"rtc" => inline(Kind::Other, Role::Ruby),
        b"b" | b"big" | b"code" | b"em" | b"font" | b"i" | b"nobr" | b"s" | b"small" | b"strike"
        | b"strong" | b"tt" | b"u" => inline(Kind::Other, Role::Formatting),
        b"div" | b"address" => line(Kind::Other, Role::WeakBlock),
        b"ol" | b"ul" => line(Kind::Other, Role::List),
        b"p" => line(Kind::Other, Role::Paragraph),
        b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => line(Kind::Other, Role::Heading),
        b"li" => line(Kind::Other, Role::Item),
        b"dd" | b"dt" => line(Kind::Other, Role::Definition),
        b"form" => line(Kind::Other, Role::Form),
        b"button" => spaced(Kind::Other, Role::Button),
        b"select" => line(Kind::Other, Role::Select),
        b"option" | b"optgroup" => line(Kind::Other, Role::Choice),
        b"object" => spaced(Kind::Other, Role::Embedded),
        b"applet" | b"marquee" => inline(Kind::Other, Role::Embedded),
        b"table" => line(Kind::Other, Role::Table),
        b"caption" => line(Kind::Other, Role::Caption),
        b"col" | b"colgroup" => inline(Kind::Other, Role::Column),
        b"tbody" | b"tfoot" | b"thead" => line(Kind::Other, Role::RowGroup),
        b"tr" => line(Kind::Other, Role::Row),
        b"td" | b"th" => spaced(Kind::Other, Role::Cell),
        b"figure" => line(Kind::Figure, Role::Block),
        b"figcaption" => line(Kind::Figcaption, Role::Block),
        b"picture" => inline(Kind::Picture, Role::Inline),
        b"article" | b"aside" | b"blockquote" | b"center" | b"details" | b"dialog" | b"dir" | b"dl"
        | b"fieldset" | b"footer" | b"header" | b"hgroup" | b"listing" | b"main" | b"menu" | b"nav"
        | b"pre" | b"search" | b"section" | b"summary" => line(Kind::Other, Role::Block),
        b"legend" => line(Kind::Other, Role::Inline),
        _ => inline(Kind::Other, Role::Inline),
    }
}

fn ends_foreign(name: &[u8]) -> bool {
    matches!(
        name,
        b"b" | b"big"
            | b"blockquote"
            | b"body"
            | b"br"
            | b"center"
            | b"code"
            | b"dd"
            | b"div"
            | b"dl"
            | b"dt"
            | b"em"
            | b"embed"
            | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"h5"
            | b"h6"
            | b"head"
            | b"hr"
            | b"i"
            | b"img"
            | b"li"
            | b"listing"
            | b"menu"
            | b"meta"
            | b"nobr"
            | b"ol"
            | b"p"
            | b"pre"
            | b"ruby"
            | b"s"
            | b"small"
            | b"span"
            | b"strong"
            | b"strike"
            | b"sub"
            | b"sup"
            | b"table"
            | b"tt"
            | b"u"
            | b"ul"
            | b"var"
    )
}

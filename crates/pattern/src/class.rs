//! The named character classes of POSIX, for brackets.

/// A character class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Alnum,
    Alpha,
    Ascii,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Word,
    Xdigit,
}

/// The classes by name.
const NAMES: [(&str, Class); 14] = [
    ("alnum", Class::Alnum),
    ("alpha", Class::Alpha),
    ("ascii", Class::Ascii),
    ("blank", Class::Blank),
    ("cntrl", Class::Cntrl),
    ("digit", Class::Digit),
    ("graph", Class::Graph),
    ("lower", Class::Lower),
    ("print", Class::Print),
    ("punct", Class::Punct),
    ("space", Class::Space),
    ("upper", Class::Upper),
    ("word", Class::Word),
    ("xdigit", Class::Xdigit),
];

impl Class {
    /// Returns the class with this name.
    pub(super) fn named(name: &[u32]) -> Option<Self> {
        let is = |known: &str| known.bytes().map(u32::from).eq(name.iter().copied());
        NAMES.iter().find(|(known, _)| is(known)).map(|(_, class)| *class)
    }

    /// Returns whether the class contains a character.
    pub(super) fn contains(self, c: char) -> bool {
        let is_printed = !c.is_control();
        match self {
            Self::Alnum => c.is_alphanumeric(),
            Self::Alpha => c.is_alphabetic(),
            Self::Ascii => c.is_ascii(),
            Self::Blank => c == '\t' || c == ' ',
            Self::Cntrl => c.is_control(),
            Self::Digit => c.is_ascii_digit(),
            Self::Graph => is_printed && !c.is_whitespace(),
            Self::Lower => c.is_lowercase(),
            Self::Print => is_printed,
            Self::Punct => is_printed && !c.is_whitespace() && !c.is_alphanumeric(),
            Self::Space => c.is_whitespace(),
            Self::Upper => c.is_uppercase(),
            Self::Word => c.is_alphanumeric() || c == '_',
            Self::Xdigit => c.is_ascii_hexdigit(),
        }
    }
}

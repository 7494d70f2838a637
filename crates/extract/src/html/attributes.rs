//! Collects the attributes of a tag that are needed.

use std::borrow::Cow;

/// The attributes that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attribute {
    Href,
    Rel,
    Alt,
    Content,
    HttpEquiv,
    Name,
    Lang,
    XmlLang,
    Src,
    Srcset,
    DataSrc,
    DataSrcset,
    DataOriginal,
    DataLazySrc,
    Title,
    Width,
    Height,
}

const COUNT: usize = 17;

impl Attribute {
    fn of(name: &[u8]) -> Option<Attribute> {
        Some(match name {
            b"href" => Attribute::Href,
            b"rel" => Attribute::Rel,
            b"alt" => Attribute::Alt,
            b"content" => Attribute::Content,
            b"http-equiv" => Attribute::HttpEquiv,
            b"name" => Attribute::Name,
            b"lang" => Attribute::Lang,
            b"xml:lang" => Attribute::XmlLang,
            b"src" => Attribute::Src,
            b"srcset" => Attribute::Srcset,
            b"data-src" => Attribute::DataSrc,
            b"data-srcset" => Attribute::DataSrcset,
            b"data-original" => Attribute::DataOriginal,
            b"data-lazy-src" => Attribute::DataLazySrc,
            b"title" => Attribute::Title,
            b"width" => Attribute::Width,
            b"height" => Attribute::Height,
            _ => return None,
        })
    }
}

/// The values of one tag. The buffers are reused for all tags of a document.
///
/// If an attribute is repeated, the first one counts (HTML standard, 13.2.5.33). Values are kept
/// completely: each is shorter than the document, and a truncated reference would be a different
/// one.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    values: [Vec<u8>; COUNT],
    /// Bit n: attribute n is in the tag.
    present: u32,
    /// The name being read.
    name: Vec<u8>,
    state: Reading,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Reading {
    #[default]
    Nothing,
    Name,
    Value(Attribute),
    /// The value of an attribute that is not used.
    Other,
}

impl Attributes {
    /// Begins a new tag.
    pub(super) fn clear(&mut self) {
        self.present = 0;
        self.state = Reading::Nothing;
    }

    /// Begins a new attribute.
    pub(super) fn begin(&mut self) {
        self.end();
        self.name.clear();
        self.state = Reading::Name;
    }

    pub(super) fn push_name(&mut self, part: &[u8]) {
        // The names of all used attributes are shorter.
        if self.name.len() <= 32 {
            self.name.extend_from_slice(part);
        }
    }

    pub(super) fn push_value(&mut self, part: &[u8]) {
        self.end();
        if let Reading::Value(attribute) = self.state {
            self.values[attribute as usize].extend_from_slice(part);
        }
    }

    /// Ends the name of an attribute: its value begins, or the tag ends.
    pub(super) fn end(&mut self) {
        if self.state != Reading::Name {
            return;
        }
        self.state = match Attribute::of(&self.name) {
            Some(attribute) if self.present & (1 << attribute as u8) == 0 => {
                self.present |= 1 << attribute as u8;
                self.values[attribute as usize].clear();
                Reading::Value(attribute)
            }
            _ => Reading::Other,
        };
    }

    pub(super) fn get(&self, attribute: Attribute) -> Option<&[u8]> {
        (self.present & (1 << attribute as u8) != 0).then(|| self.values[attribute as usize].as_slice())
    }

    /// Returns the value as text. The input was UTF-8, so nothing is replaced.
    pub(super) fn text(&self, attribute: Attribute) -> Option<Cow<'_, str>> {
        let lossy =
            |value| std::str::from_utf8(value).map_or_else(|_| String::from_utf8_lossy(value), Cow::Borrowed);
        self.get(attribute).map(lossy)
    }

    /// Returns whether the value is `word`, ignoring case and surrounding blanks.
    pub(super) fn is(&self, attribute: Attribute, word: &[u8]) -> bool {
        self.get(attribute)
            .is_some_and(|value| value.trim_ascii().eq_ignore_ascii_case(word))
    }

    /// Returns whether one of the words of the value is `word`, ignoring case.
    pub(super) fn has_word(&self, attribute: Attribute, word: &[u8]) -> bool {
        self.get(attribute).is_some_and(|value| {
            value
                .split(u8::is_ascii_whitespace)
                .any(|found| found.eq_ignore_ascii_case(word))
        })
    }
}

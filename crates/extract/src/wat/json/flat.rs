//! A fast path for the most frequent objects of WAT: those of links, with few short names and only
//! strings.
//!
//! Invariant: if an object is read here, [`Json::object`] reads the same fields of it and ends at
//! the same byte. An object in any other form is left to it.

use super::{Json, Text};

/// Longest name of a field that is read here: with its quote it fits into a word.
const NAME_BYTES_MAX: usize = 7;

/// The bytes around the path of most links.
const BEFORE_PATH: &[u8; 9] = b"{\"path\":\"";
const BEFORE_URL: &[u8; 9] = b"\",\"url\":\"";

/// Returns the path of a link with the usual beginning. The first two fields are compared as a
/// whole, so that the processor need not find the end of one before it reads the next.
fn usual_path(object: &[u8]) -> Option<&[u8]> {
    let path_bytes = if object.first_chunk() == Some(b"{\"path\":\"IMG@/src\",\"url\":\"") {
        b"IMG@/src".len()
    } else if object.first_chunk() == Some(b"{\"path\":\"A@/href\",\"url\":\"") {
        b"A@/href".len()
    } else {
        return None;
    };
    object[BEFORE_PATH.len()..].get(..path_bytes)
}

/// The name of a field as a word, with its closing quote: comparing it takes one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::wat) struct Name(u64);

impl Name {
    /// Makes the word of a name of at most seven bytes.
    pub(in crate::wat) const fn of(name: &[u8]) -> Name {
        assert!(name.len() <= NAME_BYTES_MAX);
        let (mut word, mut at) = (b'"' as u64, name.len());
        while at > 0 {
            at -= 1;
            word = word << 8 | name[at] as u64;
        }
        Name(word)
    }

    /// Reads the name at the start of `bytes`, up to its quote. Returns it with its length. `None`
    /// if it is longer than seven bytes, has escapes, or is near the end of the input.
    fn read(bytes: &[u8]) -> Option<(Name, usize)> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        let quotes = places_of(b'"', word);
        if quotes == 0 {
            return None;
        }
        let length = quotes.trailing_zeros() / 8;
        let name = word & (u64::MAX >> (56 - 8 * length));
        (places_of(b'\\', name) == 0).then_some((Name(name), length as usize))
    }
}

/// Sets the highest bit of each byte that equals `byte`, and perhaps of bytes above the lowest of
/// them.
fn places_of(byte: u8, word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHEST: u64 = ONES << 7;
    let zero_where_equal = word ^ (ONES * u64::from(byte));
    zero_where_equal.wrapping_sub(ONES) & !zero_where_equal & HIGHEST
}

impl<'a> Json<'a> {
    /// Reads an object of strings: calls `field` with each name and value, until it returns false.
    /// Returns false, without having moved, if the object has another form; `field` may have been
    /// called then.
    pub(in crate::wat) fn strings(&mut self, field: impl FnMut(Name, Text<'a>) -> bool) -> bool {
        let end = self.end_of_strings(field);
        self.at = end.unwrap_or(self.at);
        end.is_some()
    }

    /// As [`Json::strings`], but returns the position of the object's end.
    fn end_of_strings(&self, mut field: impl FnMut(Name, Text<'a>) -> bool) -> Option<usize> {
        let (mut at, mut is_wanted) = (self.at, true);
        let object = self.input.get(at..)?;
        if let Some(path) = usual_path(object) {
            is_wanted = field(Name::of(b"path"), Text::plain(path));
            let start = at + BEFORE_PATH.len() + path.len() + BEFORE_URL.len();
            let (url, end) = self.text_from(start)?;
            is_wanted = is_wanted && field(Name::of(b"url"), url);
            at = end;
        } else if *object.first()? != b'{' {
            return None;
        }
        loop {
            if at > self.at {
                match self.input.get(at)? {
                    b',' => {}
                    b'}' => return Some(at + 1),
                    _ => return None,
                }
            }
            let (name, value, end) = self.string_after(at, at == self.at)?;
            at = end;
            is_wanted = is_wanted && field(name, value);
        }
    }

    /// Returns the name and value of the field after the brace or comma at `at`, and the position
    /// of the value's end.
    fn string_after(&self, at: usize, is_first: bool) -> Option<(Name, Text<'a>, usize)> {
        let (quote, rest) = self.input.get(at + 1..)?.split_first()?;
        if *quote != b'"' {
            return None;
        }
        let (name, length) = Name::read(rest)?;
        if *rest.get(length..)?.first_chunk()? != *b"\":\"" {
            return None;
        }
        let start = at + 2 + length + 3;
        // The first field is mostly `path`, whose value is short. The others are longer.
        let (value, end) = if is_first {
            self.short_text_from(start)
        } else {
            self.text_from(start)
        }?;
        Some((name, value, end))
    }

    /// As [`Json::text_from`], but faster for strings that end within sixteen bytes.
    fn short_text_from(&self, start: usize) -> Option<(Text<'a>, usize)> {
        for word_start in [start, start + 8] {
            let Some(bytes) = self.input.get(word_start..).and_then(|bytes| bytes.first_chunk()) else {
                break;
            };
            let word = u64::from_le_bytes(*bytes);
            let quotes = places_of(b'"', word);
            let ends = quotes | places_of(b'\\', word);
            if ends == 0 {
                continue;
            }
            // The lowest match is certain. If it is a backslash, the string has escapes.
            if ends.trailing_zeros() != quotes.trailing_zeros() {
                break;
            }
            let end = word_start + quotes.trailing_zeros() as usize / 8;
            return Some((Text::plain(&self.input[start..end]), end + 1));
        }
        self.text_from(start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;
    use proptest::prelude::*;

    type Field = (Vec<u8>, Vec<u8>);

    /// Returns the fields up to the last wanted one and the object's end, read with
    /// [`Json::object`].
    fn slowly(input: &[u8], last: &[u8]) -> Option<(Vec<Field>, usize)> {
        let mut json = Json::new(input);
        let mut fields = Vec::new();
        json.object(|json, name| {
            let value = json.text()?;
            fields.push((name.to_vec(), value.raw.to_vec()));
            if name == last { json.skip_fields() } else { Ok(()) }
        })
        .ok()?;
        Some((fields, json.at))
    }

    /// Checks that the fast path agrees with the slow one if it is taken. Returns whether it was.
    fn check(input: &[u8], last: &[u8]) -> bool {
        let mut json = Json::new(input);
        let mut fields = Vec::new();
        let is_read = json.strings(|name, value| {
            let bytes = name.0.to_le_bytes();
            let name = bytes.split(|b| *b == b'"').next().unwrap();
            fields.push((name.to_vec(), value.raw.to_vec()));
            name != last
        });
        if is_read {
            assert_eq!(
                Some((fields, json.at)),
                slowly(input, last),
                "{}",
                input.escape_ascii()
            );
        } else {
            assert_eq!(json.at, 0, "{}", input.escape_ascii());
        }
        is_read
    }

    #[test]
    fn links_are_read_the_short_way() {
        for (link, last) in [
            (r#"{"path":"A@/href","url":"/x"} "#, ""),
            (
                r#"{"path":"A@\/href","url":"\"","title":"{[","target":"_blank"} "#,
                "",
            ),
            (r#"{"text":"","path":"IMG@/src","url":"","x":"}"} "#, "path"),
            (r#"{"path":"IMG@/src","url":"/x","alt":"}"}         "#, "path"),
            (r#"{"path":"A@/href","url":""}"#, "url"),
            (
                r#"{"path":"0123456","url":"01234567","x":"012345678","y":"0123456789abcdef\""}         "#,
                "",
            ),
        ] {
            assert!(check(link.as_bytes(), last.as_bytes()), "{link}");
        }
    }

    #[test]
    fn other_objects_are_left_to_the_long_way() {
        for object in [
            r#"{}        "#,
            r#"{"a":""}"#,
            r#"{ "path":"x"}  "#,
            r#"{"path" :"x"}  "#,
            r#"{"path":"x","url":["}"]}  "#,
            "{\"path\0\":\"x\",\"path\":{}}",
            r#"{"path":"x","a":{"b":"c"}}  "#,
            r#"{"path":"A@/href","url":"/x","a":1}  "#,
            r#"{"path":"A@/href","url":"/x"  "#,
            r#"{"path":"IMG@/src","url":"/x"#,
            r#"{"path":"x","long name":"x"}  "#,
            r#"["path","x"]        "#,
        ] {
            assert!(!check(object.as_bytes(), b"path"), "{object}");
        }
    }

    fn field() -> impl Strategy<Value = String> {
        let name = proptest::sample::select(vec![
            "path", "url", "text", "a", "longest", "too long", "a\\\"b", "",
        ]);
        let value = prop_oneof![
            "[a/\\\\{}\\[\\]\",:é]{0,12}".prop_map(|text| serde_json::Value::String(text).to_string()),
            value().prop_map(|value| value.to_string()),
        ];
        (name, value).prop_map(|(name, value)| format!("\"{name}\":{value}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn the_short_way_agrees_with_the_long(
            usual in proptest::option::of((
                proptest::sample::select(vec!["A@/href", "IMG@/src"]),
                "[a/\"}é]{0,80}",
            )),
            mut fields in proptest::collection::vec(field(), 0..5),
            changed in proptest::option::of((any::<proptest::sample::Index>(), any::<u8>())),
            last in proptest::sample::select(vec!["path", "url", ""]),
        ) {
            if let Some((path, url)) = usual {
                let url = serde_json::Value::String(url);
                fields.splice(..0, [format!("\"path\":\"{path}\""), format!("\"url\":{url}")]);
            }
            let mut input = format!("{{{}}},{{\"path\":\"x\"}}", fields.join(",")).into_bytes();
            if let Some((at, with)) = changed {
                let at = at.index(input.len());
                input[at] = with;
            }
            check(&input, last.as_bytes());
        }
    }
}

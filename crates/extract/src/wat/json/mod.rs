//! A JSON reader for input that is read once and mostly skipped.
//!
//! WAT records are the largest part of the input that Weft must read fast: 30 to 45 KB of JSON per
//! page, of which a few strings are needed. This reader returns strings undecoded, and its callers
//! decode only those that they use. In skipped parts it looks only for quotes and brackets and
//! checks nothing else. Measured on one thread over 306 records made of real pages (10.7 KB on
//! average), with the same fields: this reader 1,140 MB/s; sonic-rs, simd-json and serde_json into
//! typed structs that borrow 335, 325 and 310 MB/s. On records of Common Crawl of 2015 (20 KB on
//! average): 1,302 against 407, 349 and 356.
//!
//! Invariant: nothing here recurses, so nested input needs no stack; every call either advances or
//! fails.

mod flat;

use std::borrow::Cow;

pub(super) use flat::Name;

/// The input is not JSON, or not what the caller expects at this position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed {
    /// Offset in the input, in bytes.
    pub(super) at: usize,
}

pub(super) type Result<T> = std::result::Result<T, Malformed>;

/// A string of the input, undecoded and without its quotes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Text<'a> {
    pub(super) raw: &'a [u8],
    has_escapes: bool,
}

/// A position in the input.
pub(super) struct Json<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Json<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Json { input, at: 0 }
    }

    /// Returns the first byte of the next value or punctuation without consuming it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.input.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        self.fail()
    }

    fn fail<T>(&self) -> Result<T> {
        Err(Malformed { at: self.at })
    }

    /// Reads an object: calls `field` with each name, undecoded, which must read the value. A value
    /// that is no object is skipped.
    pub(super) fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Result<()>) -> Result<()> {
        if self.peek() != Some(b'{') {
            return self.skip();
        }
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let name = self.text()?;
            self.expect(b':')?;
            field(self, name.raw)?;
            if !self.has_more(b'}')? {
                return Ok(());
            }
        }
    }

    /// Reads an array: calls `item` for each item, which must read it. A value that is no array
    /// counts as an array of one, because some writers use an array only for repeated headers.
    pub(super) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if self.peek() != Some(b'[') {
            return item(self);
        }
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.has_more(b']')? {
                return Ok(());
            }
        }
    }

    /// Reads the byte after a field or an item: a comma (true), or the end (false).
    fn has_more(&mut self, end: u8) -> Result<bool> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.peek();
                Ok(true)
            }
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(false)
            }
            _ => self.fail(),
        }
    }

    /// Reads a string.
    pub(super) fn text(&mut self) -> Result<Text<'a>> {
        if self.peek() != Some(b'"') {
            return self.fail();
        }
        match self.text_from(self.at + 1) {
            Some((text, end)) => {
                self.at = end;
                Ok(text)
            }
            None => self.fail(),
        }
    }

    /// Returns the string whose first byte, after its quote, is at `start`, and the position after
    /// its closing quote. `None` if it has no end.
    fn text_from(&self, start: usize) -> Option<(Text<'a>, usize)> {
        let mut has_escapes = false;
        let mut from = start;
        loop {
            let rest = self.input.get(from..)?;
            let found = memchr::memchr2(b'"', b'\\', rest)?;
            if rest[found] == b'"' {
                let raw = &self.input[start..from + found];
                return Some((Text { raw, has_escapes }, from + found + 1));
            }
            has_escapes = true;
            from += found + 2;
        }
    }

    /// Returns a string or a number as text, or the first string of an array; `None` for other
    /// values, which are skipped.
    pub(super) fn scalar(&mut self) -> Result<Option<Text<'a>>> {
        match self.peek() {
            Some(b'"') => Ok(Some(self.text()?)),
            Some(b'-' | b'0'..=b'9') => {
                let start = self.at;
                self.skip()?;
                Ok(Some(Text::plain(&self.input[start..self.at])))
            }
            Some(b'[') => {
                let mut first = None;
                self.array(|json| {
                    if first.is_none() && json.peek() == Some(b'"') {
                        first = Some(json.text()?);
                        return Ok(());
                    }
                    json.skip()
                })?;
                Ok(first)
            }
            _ => self.skip().map(|()| None),
        }
    }

    /// Skips one value of any kind.
    pub(super) fn skip(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'"') => self.text().map(drop),
            Some(b'{' | b'[') => self.skip_nested(),
            Some(b'-' | b'0'..=b'9' | b'a'..=b'z') => {
                let rest = &self.input[self.at..];
                let is_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
                self.at += rest.iter().position(|b| !is_word(b)).unwrap_or(rest.len());
                Ok(())
            }
            _ => self.fail(),
        }
    }

    fn skip_nested(&mut self) -> Result<()> {
        self.at += 1;
        self.skip_fields()?;
        self.at += 1;
        Ok(())
    }

    /// Skips the rest of the innermost object or array, up to its closing bracket, which the caller
    /// that reads it then finds.
    pub(super) fn skip_fields(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        while let Some(byte) = self.input.get(self.at) {
            match byte {
                b'"' => {
                    self.text()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return Ok(()),
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        self.fail()
    }
}

impl<'a> Text<'a> {
    /// Makes the text of a string without escapes.
    fn plain(raw: &'a [u8]) -> Text<'a> {
        Text {
            raw,
            has_escapes: false,
        }
    }

    /// Decodes the string: resolves escapes, and replaces invalid UTF-8 and lone surrogates.
    pub(super) fn decode(self) -> Cow<'a, str> {
        if self.has_escapes {
            Cow::Owned(self.unescape())
        } else {
            String::from_utf8_lossy(self.raw)
        }
    }

    fn unescape(self) -> String {
        let mut out = Vec::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            out.extend_from_slice(&rest[..at]);
            let Some(letter) = rest.get(at + 1) else { break };
            rest = &rest[at + 2..];
            let plain = match letter {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'b' => 8,
                b'f' => 12,
                b'u' => {
                    let c = take_unicode(&mut rest);
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
                other => *other,
            };
            out.push(plain);
        }
        out.extend_from_slice(rest);
        match String::from_utf8(out) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }
}

/// Reads the character after `\u`, with its second surrogate if there are two (RFC 8259, 7).
fn take_unicode(rest: &mut &[u8]) -> char {
    let Some(first) = take_hex(rest) else {
        return char::REPLACEMENT_CHARACTER;
    };
    if (0xd800..0xdc00).contains(&first)
        && let Some(mut after) = rest.strip_prefix(b"\\u")
        && let Some(second) = take_hex(&mut after)
        && (0xdc00..0xe000).contains(&second)
    {
        *rest = after;
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn take_hex(rest: &mut &[u8]) -> Option<u32> {
    let (digits, tail) = rest.split_at_checked(4)?;
    let code = digits
        .iter()
        .try_fold(0, |sum, d| Some(sum * 16 + char::from(*d).to_digit(16)?))?;
    *rest = tail;
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns all strings and numbers of the input in order, by walking everything.
    fn walk(json: &mut Json, out: &mut Vec<String>) -> Result<()> {
        match json.peek() {
            Some(b'{') => json.object(|json, name| {
                out.push(
                    Text {
                        raw: name,
                        has_escapes: true,
                    }
                    .decode()
                    .into_owned(),
                );
                walk(json, out)
            }),
            Some(b'[') => json.array(|json| walk(json, out)),
            _ => {
                if let Some(text) = json.scalar()? {
                    out.push(text.decode().into_owned());
                }
                Ok(())
            }
        }
    }

    fn model(value: &serde_json::Value, out: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    out.push(name.clone());
                    model(value, out);
                }
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| model(item, out)),
            serde_json::Value::String(text) => out.push(text.clone()),
            serde_json::Value::Number(number) => out.push(number.to_string()),
            _ => {}
        }
    }

    pub(super) fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i32>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
            "[a\\\\\"\n/é😀]{0,6}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::Array),
                proptest::collection::btree_map("[a-z\"]{0,4}", inner, 0..5)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn escapes() {
        let check = |json: &str, expected: &str| {
            assert_eq!(
                Json::new(json.as_bytes()).text().unwrap().decode(),
                expected,
                "{json}"
            );
        };
        check(r#""a\"b\\c\/d\n\u00e9\u4e2d""#, "a\"b\\c/d\né中");
        check(r#""\ud83d\ude00""#, "😀");
        check(r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}");
        check(r#""\u12""#, "\u{fffd}12");
        check(r#""""#, "");
    }

    #[test]
    fn the_rest_of_an_object_can_be_passed_over() {
        let mut json = Json::new(br#"[{"a":1,"b":"}","c":[{}]},{"a":2}]"#);
        let mut seen = Vec::new();
        json.array(|json| {
            json.object(|json, name| {
                seen.push((name.to_vec(), json.scalar()?.map(|text| text.raw.to_vec())));
                json.skip_fields()
            })
        })
        .unwrap();
        let field = |value: &[u8]| (b"a".to_vec(), Some(value.to_vec()));
        assert_eq!(seen, [field(b"1"), field(b"2")]);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = "[".repeat(5_000_000);
        assert!(Json::new(deep.as_bytes()).skip().is_err());
        let closed = format!("{deep}{}", "]".repeat(5_000_000));
        assert!(Json::new(closed.as_bytes()).skip().is_ok());
    }

    proptest! {
        #[test]
        fn same_as_serde_json(value in value(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            walk(&mut Json::new(text.as_bytes()), &mut found).unwrap();
            model(&value, &mut expected);
            prop_assert_eq!(found, expected);
            prop_assert_eq!(Json::new(text.as_bytes()).skip(), Ok(()));
        }

        #[test]
        fn mutated_input_does_no_harm(value in value(), at in any::<proptest::sample::Index>(), with in any::<u8>(), cut in any::<proptest::sample::Index>()) {
            let mut text = serde_json::to_vec(&value).unwrap();
            let at = at.index(text.len());
            text[at] = with;
            text.truncate(cut.index(text.len() + 1));
            let mut json = Json::new(&text);
            let _ = walk(&mut json, &mut Vec::new());
            let _ = Json::new(&text).skip();
        }
    }
}

//! Header fields, stored in one string: the header of a record costs two allocations, or none if
//! memory is reused.
//!
//! Invariant: every range in `fields` is within `text`, on character boundaries. Between the ranges
//! `text` may contain anything, because a header that needs no change is copied as a whole.

/// The header fields of a record, in file order. Names are case-insensitive.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    text: String,
    fields: Vec<Field>,
}

/// The ranges of a field's name and value, each as start and end. 32 bits suffice, because a header
/// has at most 1 MiB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: (u32, u32),
    pub(crate) value: (u32, u32),
}

impl Headers {
    /// Creates an empty list.
    pub fn new() -> Headers {
        Headers::default()
    }

    /// Returns the first value of `name`, ignoring case.
    pub fn get(&self, name: &str) -> Option<&str> {
        let same = |field: &&Field| {
            (field.name.1 - field.name.0) as usize == name.len()
                && self.slice(field.name).eq_ignore_ascii_case(name)
        };
        self.fields.iter().find(same).map(|field| self.slice(field.value))
    }

    /// Returns the name and value of every field in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields
            .iter()
            .map(|field| (self.slice(field.name), self.slice(field.value)))
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Reports whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Appends a field.
    pub fn push(&mut self, name: &str, value: &str) {
        self.push_with(|text| text.push_str(name), |text| text.push_str(value));
    }

    /// Appends a field as read. Bytes that are not UTF-8 are replaced; in URLs they are
    /// percent-encoded instead, so that the URL keeps its meaning.
    pub(crate) fn push_bytes(&mut self, name: &[u8], value: &[u8]) {
        let invalid = if name.eq_ignore_ascii_case(b"WARC-Target-URI") {
            push_percent_encoded
        } else {
            push_replacement
        };
        self.push_with(
            |text| push_text(text, name, push_replacement),
            |text| push_text(text, value, invalid),
        );
    }

    /// Continues the value of the last field after a space (header folding). No other text must
    /// have been added since.
    pub(crate) fn extend_last(&mut self, more: &[u8]) {
        let Some(last) = self.fields.last_mut().filter(|_| !more.is_empty()) else {
            return;
        };
        if last.value.0 < last.value.1 {
            self.text.push(' ');
        }
        push_text(&mut self.text, more, push_replacement);
        last.value.1 = self.text.len() as u32;
    }

    /// Clears the list and returns the memory of the ranges.
    pub(crate) fn take_ranges(&mut self) -> Vec<Field> {
        self.clear();
        std::mem::take(&mut self.fields)
    }

    /// Replaces all fields by those of `header`; `fields` are the ranges in it.
    pub(crate) fn take_over(&mut self, header: &str, fields: Vec<Field>) {
        self.text.clear();
        self.text.push_str(header);
        self.fields = fields;
    }

    /// Removes all fields but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
    }

    fn push_with(&mut self, name: impl FnOnce(&mut String), value: impl FnOnce(&mut String)) {
        let start = self.text.len() as u32;
        name(&mut self.text);
        let name_end = self.text.len() as u32;
        value(&mut self.text);
        self.fields.push(Field {
            name: (start, name_end),
            value: (name_end, self.text.len() as u32),
        });
    }

    fn slice(&self, (start, end): (u32, u32)) -> &str {
        &self.text[start as usize..end as usize]
    }
}

impl PartialEq for Headers {
    fn eq(&self, other: &Headers) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Headers {}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in fields {
            headers.push(name.as_ref(), value.as_ref());
        }
        headers
    }
}

/// Appends bytes as text. Calls `invalid` for bytes that are not UTF-8.
fn push_text(text: &mut String, bytes: &[u8], invalid: fn(&mut String, &[u8])) {
    if let Ok(valid) = std::str::from_utf8(bytes) {
        text.push_str(valid);
        return;
    }
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            invalid(text, chunk.invalid());
        }
    }
}

fn push_replacement(text: &mut String, _bytes: &[u8]) {
    text.push(char::REPLACEMENT_CHARACTER);
}

fn push_percent_encoded(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        text.push('%');
        text.push_str(&data_encoding::HEXUPPER.encode(&[*byte]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_in_order_and_without_regard_to_case() {
        let mut headers: Headers = [("A", "1"), ("b", ""), ("A", "2")].into_iter().collect();
        headers.push_bytes(b"c\xff", b"x\xfe");
        headers.extend_last(b"folded");
        let all: Vec<_> = headers.iter().collect();
        assert_eq!(
            all,
            [
                ("A", "1"),
                ("b", ""),
                ("A", "2"),
                ("c\u{fffd}", "x\u{fffd} folded")
            ]
        );
        headers.push_bytes(b"warc-target-uri", b"http://a.b/\xe9cole");
        assert_eq!(headers.get("WARC-Target-URI"), Some("http://a.b/%E9cole"));
        assert_eq!(headers.get("a"), Some("1"));
        assert_eq!(headers.get("B"), Some(""));
        assert_eq!(headers.get("d"), None);
    }
}

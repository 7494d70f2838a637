//! Header fields, kept in one string: a record's header costs two allocations, and none when reused.
//!
//! Invariant: the ends in `fields` never decrease, are never beyond `text.len()`, and stand on character
//! boundaries; field i's name starts where field i-1's value ends.

/// Header fields of a record, in file order, names compared without case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers {
    /// Name, value, name, value, ... without separators.
    text: String,
    /// For each field: end of its name and end of its value in `text`.
    fields: Vec<(usize, usize)>,
}

impl Headers {
    /// No fields.
    pub fn new() -> Headers {
        Headers::default()
    }

    /// First value of `name`, compared without case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Name and value of every field, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.fields.iter().map(move |&(name_end, value_end)| {
            let field = (&self.text[start..name_end], &self.text[name_end..value_end]);
            start = value_end;
            field
        })
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Adds a field at the end.
    pub fn push(&mut self, name: &str, value: &str) {
        self.text.push_str(name);
        let name_end = self.text.len();
        self.text.push_str(value);
        self.fields.push((name_end, self.text.len()));
    }

    /// Adds a field as read; bytes that are not UTF-8 are replaced.
    pub(crate) fn push_bytes(&mut self, name: &[u8], value: &[u8]) {
        push_lossy(&mut self.text, name);
        let name_end = self.text.len();
        push_lossy(&mut self.text, value);
        self.fields.push((name_end, self.text.len()));
    }

    /// Continues the value of the last field (header folding) after a space.
    pub(crate) fn extend_last(&mut self, more: &[u8]) {
        let Some(last) = self.fields.last_mut() else {
            return;
        };
        if !more.is_empty() {
            if last.0 < last.1 {
                self.text.push(' ');
            }
            push_lossy(&mut self.text, more);
            last.1 = self.text.len();
        }
    }

    /// Forgets all fields, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in fields {
            headers.push(name.as_ref(), value.as_ref());
        }
        headers
    }
}

fn push_lossy(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
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
        assert_eq!(headers.get("a"), Some("1"));
        assert_eq!(headers.get("B"), Some(""));
        assert_eq!(headers.get("d"), None);
    }
}

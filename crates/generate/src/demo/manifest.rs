//! Parses files written by Cargo: `Cargo.lock`, and the `Cargo.toml` of a published crate.
//!
//! Both are TOML in the form of one serializer: each line begins with a table head or `key =
//! value`, and values are basic strings, multi-line basic strings, or arrays of basic strings. This
//! is not a TOML parser: everything else is skipped and never an error.

/// A value and its position.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    /// The table head without brackets, such as `package` or `dependencies.serde`; also for
    /// `[[package]]`.
    pub(super) table: &'a str,
    /// The number of the table in the file, which distinguishes `[[package]]` tables.
    pub(super) table_number: usize,
    /// The key within the table.
    pub(super) key: &'a str,
    /// The string, or the strings of an array.
    pub(super) values: Vec<String>,
}

/// Returns all strings of a file, in file order.
pub(super) fn items(text: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let (mut table, mut table_number) = ("", 0);
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if let Some(head) = line.strip_prefix('[') {
            table = head.trim_start_matches('[').trim_end().trim_end_matches(']');
            table_number += 1;
        } else if let Some((key, value)) = line.split_once(" = ")
            && !key.is_empty()
            && !key.starts_with([' ', '#', '"'])
        {
            let from = rest.len() - (after.len() + value.len() + usize::from(rest.len() > line.len()));
            let (values, used) = strings(&rest[from..]);
            items.push(Item {
                table,
                table_number,
                key,
                values,
            });
            // Continue after the value, which may span several lines.
            rest = rest[from + used..]
                .split_once('\n')
                .map_or("", |(_, after)| after);
            continue;
        }
        rest = after;
    }
    items
}

/// Parses the strings of the value at the beginning of `text`. Also returns its length in bytes.
fn strings(text: &str) -> (Vec<String>, usize) {
    if !text.starts_with('[') {
        return match string(text) {
            Some((value, used)) => (vec![value], used),
            None => (Vec::new(), 0),
        };
    }
    let mut values = Vec::new();
    let mut at = 1;
    loop {
        let skipped = text[at..]
            .find(|c: char| c != ',' && !c.is_whitespace())
            .unwrap_or(text.len() - at);
        at += skipped;
        match string(&text[at..]) {
            Some((value, used)) => {
                values.push(value);
                at += used;
            }
            None => return (values, at),
        }
    }
}

/// Parses the basic string at the beginning of `text`. Also returns its length in bytes.
fn string(text: &str) -> Option<(String, usize)> {
    let quote = if text.starts_with("\"\"\"") {
        "\"\"\""
    } else {
        "\""
    };
    let body = text.strip_prefix(quote)?;
    let mut value = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        if body[at..].starts_with(quote) {
            let text = if quote.len() == 3 {
                value.trim_start_matches('\n').to_owned()
            } else {
                value
            };
            return Some((text, quote.len() + at + quote.len()));
        }
        match c {
            '\\' => value.push(escaped(chars.next()?.1)),
            '\n' if quote.len() == 1 => return None,
            c => value.push(c),
        }
    }
    None
}

/// Returns the character for an escape that occurs in descriptions; the letter itself for other
/// escapes.
fn escaped(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, usize, &str, &[&str])]) {
        let found: Vec<_> = items(text);
        let found: Vec<(&str, usize, &str, Vec<&str>)> = found
            .iter()
            .map(|i| {
                (
                    i.table,
                    i.table_number,
                    i.key,
                    i.values.iter().map(String::as_str).collect(),
                )
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(t, n, k, v)| (*t, *n, *k, v.to_vec()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_lock_file() {
        check(
            "# generated\nversion = 4\n\n[[package]]\nname = \"a\"\ndependencies = [\n \"b\",\n \"c 1.0\",\n]\n\n[[package]]\nname = \"b\"\n",
            &[
                ("", 0, "version", &[]),
                ("package", 1, "name", &["a"]),
                ("package", 1, "dependencies", &["b", "c 1.0"]),
                ("package", 2, "name", &["b"]),
            ],
        );
    }

    #[test]
    fn a_manifest_with_multi_line_text() {
        check(
            "[package]\ndescription = \"\"\"\nTwo\nlines, \\\"quoted\\\"\n\"\"\"\nkeywords = [\"x\", \"y\"]\n[dependencies.serde]\nversion = \"1.0\"",
            &[
                ("package", 1, "description", &["Two\nlines, \"quoted\"\n"]),
                ("package", 1, "keywords", &["x", "y"]),
                ("dependencies.serde", 2, "version", &["1.0"]),
            ],
        );
    }

    #[test]
    fn anything_else_is_passed_over() {
        check(
            "[a\nb = \"open\nc = [\"x\"\nd\n = 1",
            &[("a", 1, "b", &[]), ("a", 1, "c", &["x"])],
        );
        check("", &[]);
        check("k = \"\"\"never closed", &[("", 0, "k", &[])]);
    }
}

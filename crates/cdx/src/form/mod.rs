//! Formats of an answer: CDXJ, one JSON object per line, columns of text, the Internet Archive's
//! array of arrays, and those of OutbackCDX.

use std::borrow::Cow;

use serde_json::Value;

use super::Dialect;
use super::field::{Field, NONE, push_word};
use super::row::CdxRow;

/// The format in which captures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `urlkey timestamp {json}`
    Cdxj,
    /// One object per line, as with pywb's `output=json`.
    Lines,
    /// `[["urlkey","timestamp",...],\n["org,iana)/",...]]`
    Arrays,
    /// The same in one line, where numbers have no quotes and a missing value is `null`:
    /// OutbackCDX's `output=json`.
    TypedArrays,
    /// `[{"urlkey":"org,iana)/",...},...]`, without missing values: OutbackCDX's `output=jsondict`.
    TypedObjects,
    /// Columns separated by a space.
    Text,
}

impl Form {
    /// Returns the format for a valid value of `output`, or the default of the server if it is
    /// absent.
    pub fn named(output: Option<&str>, dialect: Dialect) -> Form {
        match (output, dialect) {
            (Some("cdxj"), _) => Form::Cdxj,
            (Some("ndjson"), _) | (Some("json"), Dialect::Pywb) => Form::Lines,
            (Some("json"), Dialect::WaybackMachine) => Form::Arrays,
            (Some("json"), Dialect::OutbackCdx) => Form::TypedArrays,
            (Some("jsondict"), _) => Form::TypedObjects,
            (None, Dialect::Pywb) => Form::Cdxj,
            _ => Form::Text,
        }
    }

    /// Returns the media type of an answer in this format.
    pub fn media(self) -> &'static str {
        match self {
            Form::Cdxj => "text/x-cdxj; charset=utf-8",
            Form::Lines => "application/x-ndjson",
            Form::Arrays | Form::TypedArrays | Form::TypedObjects => "application/json",
            Form::Text => "text/plain; charset=utf-8",
        }
    }

    /// Returns the fields of a line if `fl` is absent.
    fn columns(self, dialect: Dialect) -> Vec<Column> {
        let fields = match (self, dialect) {
            (_, Dialect::WaybackMachine) => &Field::PUBLIC[..],
            (_, Dialect::OutbackCdx) | (Form::Text | Form::Arrays, Dialect::Pywb) => &Field::CDX11[..],
            (_, Dialect::Pywb) => &IN_LINES[..],
        };
        let named = |field: &Field| Column {
            name: match (dialect, field) {
                (Dialect::WaybackMachine, field) => field.wayback_name(),
                (Dialect::OutbackCdx, Field::Redirect) => "redirecturl",
                (_, field) => field.name(),
            }
            .to_owned(),
            field: Some(*field),
        };
        fields.iter().map(named).collect()
    }
}

/// A column, with the name that the client uses. An unknown column has no values, as in pywb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    name: String,
    field: Option<Field>,
}

impl Column {
    /// Returns the field of the column, if it is known.
    pub fn field(&self) -> Option<Field> {
        self.field
    }

    /// Parses the value of `fl`: names separated by commas.
    pub fn list(text: &str) -> Vec<Column> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names
            .map(|name| Column {
                name: name.to_owned(),
                field: Field::named(name),
            })
            .collect()
    }

    fn of(field: Field) -> Column {
        Column {
            name: field.name().to_owned(),
            field: Some(field),
        }
    }

    fn value<'r>(&self, row: &'r CdxRow) -> Option<Cow<'r, str>> {
        self.field.and_then(|field| field.value(row))
    }

    /// Returns the value for an object in pywb's format, where captures other than revisits have
    /// `-` as position of the original.
    fn value_in_object<'r>(&self, row: &'r CdxRow) -> Option<Cow<'r, str>> {
        let is_of_original = self.field.is_some_and(|field| Field::ORIGINAL.contains(&field));
        self.value(row).or(is_of_original.then_some(Cow::Borrowed(NONE)))
    }

    fn text<'r>(&self, row: &'r CdxRow) -> Cow<'r, str> {
        self.value(row).unwrap_or(Cow::Borrowed(NONE))
    }
}

/// Writes one answer, piece by piece.
///
/// ```
/// use cdx::{CdxRow, Column, Dialect, Form, Writer};
///
/// let row = CdxRow {
///     url_key: "com,example)/".into(),
///     timestamp: "20140126200624".into(),
///     url: "http://example.com/".into(),
///     ..CdxRow::default()
/// };
/// let columns = Column::list("urlkey,timestamp,url");
/// let mut writer = Writer::new(Form::Text, Dialect::Pywb, Some(columns), &[]);
/// let mut text = writer.rows(&[row]);
/// text += &writer.end(None);
/// assert_eq!(text, "com,example)/ 20140126200624 http://example.com/\n");
/// ```
pub struct Writer {
    form: Form,
    dialect: Dialect,
    columns: Vec<Column>,
    begun: bool,
}

impl Writer {
    /// Writes in `form` the columns `chosen`, or else those of the dialect followed by `added`.
    pub fn new(form: Form, dialect: Dialect, chosen: Option<Vec<Column>>, added: &[Field]) -> Writer {
        let all = || {
            let mut columns = form.columns(dialect);
            columns.extend(added.iter().copied().map(Column::of));
            columns
        };
        Writer {
            form,
            dialect,
            columns: chosen.unwrap_or_else(all),
            begun: false,
        }
    }

    /// Returns the next rows as text.
    pub fn rows(&mut self, rows: &[CdxRow]) -> String {
        let mut text = String::new();
        for row in rows {
            self.push(&mut text, row);
        }
        text
    }

    fn push(&mut self, text: &mut String, row: &CdxRow) {
        match self.form {
            Form::Cdxj => {
                push_place(text, row);
                text.push(' ');
                // Key and time are already before the object.
                let inside =
                    |column: &&Column| !matches!(column.field, Some(Field::UrlKey | Field::Timestamp));
                self.push_object(text, row, self.columns.iter().filter(inside));
                text.push('\n');
            }
            Form::Lines => {
                self.push_object(text, row, self.columns.iter());
                text.push('\n');
            }
            Form::Text => {
                push_columns(text, &self.columns, row);
                text.push('\n');
            }
            Form::Arrays => {
                self.begin(text);
                let values = self.columns.iter().map(|column| column.text(row));
                text.push_str(",\n");
                push_array(text, values);
            }
            Form::TypedArrays => {
                self.begin(text);
                text.push(',');
                push_typed_array(text, &self.columns, row);
            }
            Form::TypedObjects => {
                text.push(if self.begun { ',' } else { '[' });
                self.begun = true;
                push_typed_object(text, &self.columns, row);
            }
        }
    }

    fn push_object<'c>(&self, text: &mut String, row: &CdxRow, columns: impl Iterator<Item = &'c Column>) {
        let (comma, colon) = match self.dialect {
            Dialect::OutbackCdx => (",", ":"),
            Dialect::Pywb | Dialect::WaybackMachine => (", ", ": "),
        };
        let value = |column: &'c Column| match self.dialect {
            Dialect::OutbackCdx => column.value(row),
            Dialect::Pywb | Dialect::WaybackMachine => column.value_in_object(row),
        };
        let pairs = columns.filter_map(|column| Some((column.name.as_str(), value(column)?)));
        push_object(text, pairs, comma, colon);
    }

    /// Returns the text after the last row. The resumption key follows an empty row.
    pub fn end(&mut self, resume_key: Option<&str>) -> String {
        let mut text = String::new();
        match (self.form, resume_key) {
            (Form::Arrays, Some(key)) => {
                self.begin(&mut text);
                text.push_str(",\n[],\n");
                push_array(&mut text, [Cow::Borrowed(key)].into_iter());
                text.push_str("]\n");
            }
            (Form::Arrays, None) => text.push_str(if self.begun { "]\n" } else { "[]\n" }),
            (Form::TypedArrays, _) => {
                // The names are written even if there are no rows.
                self.begin(&mut text);
                text.push(']');
            }
            (Form::TypedObjects, _) => text.push_str(if self.begun { "]" } else { "[]" }),
            (_, Some(key)) => {
                text.push('\n');
                text.push_str(key);
                text.push('\n');
            }
            (_, None) => {}
        }
        text
    }

    /// Writes the line of names, before the first row.
    fn begin(&mut self, text: &mut String) {
        if !self.begun {
            text.push('[');
            let names = self
                .columns
                .iter()
                .map(|column| Cow::Borrowed(column.name.as_str()));
            push_array(text, names);
            self.begun = true;
        }
    }
}

/// The fields of a line of pywb. The object of a CDXJ line has all of them except the first two.
const IN_LINES: [Field; 10] = [
    Field::UrlKey,
    Field::Timestamp,
    Field::Url,
    Field::Mime,
    Field::Status,
    Field::Digest,
    Field::Length,
    Field::Offset,
    Field::Filename,
    Field::Method,
];

/// Returns `urlkey timestamp {json}` with a line end. As in pywb, numbers are strings, and `status`
/// is omitted for revisits and captures without one.
pub fn cdxj_line(row: &CdxRow) -> String {
    let mut line = String::with_capacity(512);
    push_place(&mut line, row);
    line.push(' ');
    let pairs = IN_LINES[2..]
        .iter()
        .filter_map(|field| Some((field.name(), field.value(row)?)));
    push_object(&mut line, pairs, ", ", ": ");
    line.push('\n');
    line
}

/// A key contains no white space. It is escaped anyway, so that the line can always be split.
fn push_place(text: &mut String, row: &CdxRow) {
    push_word(text, &row.url_key);
    text.push(' ');
    push_word(text, &row.timestamp);
}

fn push_columns(text: &mut String, columns: &[Column], row: &CdxRow) {
    for (n, column) in columns.iter().enumerate() {
        if n > 0 {
            text.push(' ');
        }
        push_word(text, &column.text(row));
    }
}

fn push_object<'r>(
    text: &mut String,
    pairs: impl Iterator<Item = (&'r str, Cow<'r, str>)>,
    comma: &str,
    colon: &str,
) {
    text.push('{');
    for (n, (name, value)) in pairs.enumerate() {
        if n > 0 {
            text.push_str(comma);
        }
        push_quoted(text, name);
        text.push_str(colon);
        push_quoted(text, &value);
    }
    text.push('}');
}

fn push_array<'r>(text: &mut String, values: impl Iterator<Item = Cow<'r, str>>) {
    text.push('[');
    for (n, value) in values.enumerate() {
        if n > 0 {
            text.push(',');
        }
        push_quoted(text, &value);
    }
    text.push(']');
}

/// Fields that are always empty are written as `-`, as in the lines loaded into OutbackCDX. Other
/// missing values are `null`.
fn push_typed_array(text: &mut String, columns: &[Column], row: &CdxRow) {
    text.push('[');
    for (n, column) in columns.iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        match (column.field, column.value(row)) {
            (Some(field), Some(value)) => push_typed(text, field, &value),
            (Some(Field::Redirect | Field::RobotFlags), None) => push_quoted(text, NONE),
            _ => text.push_str("null"),
        }
    }
    text.push(']');
}

fn push_typed_object(text: &mut String, columns: &[Column], row: &CdxRow) {
    text.push('{');
    let pairs = columns.iter().filter_map(|column| {
        let field = column.field?;
        Some((column, field, field.value(row)?))
    });
    for (n, (column, field, value)) in pairs.enumerate() {
        if n > 0 {
            text.push(',');
        }
        push_quoted(text, &column.name);
        text.push(':');
        push_typed(text, field, &value);
    }
    text.push('}');
}

fn push_typed(text: &mut String, field: Field, value: &str) {
    if field.is_number() {
        text.push_str(value)
    } else {
        push_quoted(text, value)
    }
}

/// Appends a JSON string.
fn push_quoted(text: &mut String, value: &str) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if value.bytes().all(is_plain) {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        text.push_str(&Value::from(value).to_string());
    }
}

#[cfg(test)]
mod tests;

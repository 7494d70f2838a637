//! Forms of an answer: CDXJ, one JSON object a line, columns of text, and the Internet Archive's array of arrays.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

use super::Dialect;
use super::field::{Field, NONE, push_word};
use super::row::CdxRow;

/// How captures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `urlkey timestamp {json}`
    Cdxj,
    /// One object a line, as pywb's `output=json`.
    Lines,
    /// `[["urlkey","timestamp",...],\n["org,iana)/",...]]`
    Arrays,
    /// Columns with a space between them.
    Text,
}

impl Form {
    /// By the value of `output`, which has been checked; what each server gives where nothing is said.
    pub fn named(output: Option<&str>, dialect: Dialect) -> Form {
        match (output, dialect) {
            (Some("cdxj"), _) => Form::Cdxj,
            (Some("ndjson"), _) => Form::Lines,
            (Some("json"), _) => Form::Arrays,
            (Some("text"), _) | (_, Dialect::WaybackMachine) => Form::Text,
            (_, Dialect::Pywb) => Form::Cdxj,
        }
    }

    /// Media type of an answer in this form.
    pub fn media(self) -> &'static str {
        match self {
            Form::Cdxj => "text/x-cdxj; charset=utf-8",
            Form::Lines => "application/x-ndjson",
            Form::Arrays => "application/json",
            Form::Text => "text/plain; charset=utf-8",
        }
    }

    /// The fields of a line if `fl` is absent.
    fn columns(self, dialect: Dialect) -> Vec<Column> {
        let with_place = [&Field::PUBLIC[..], &[Field::Offset, Field::Filename]].concat();
        let fields = match (self, dialect) {
            (_, Dialect::WaybackMachine) => Field::PUBLIC.to_vec(),
            (Form::Text, _) => Field::CDX11.to_vec(),
            _ => with_place,
        };
        fields
            .into_iter()
            .map(|field| Column {
                name: field.wayback_name().to_owned(),
                field: Some(field),
            })
            .collect()
    }
}

/// A column, under the name that the asker has for it. What is not known here has no value, as in pywb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    name: String,
    field: Option<Field>,
}

impl Column {
    /// Of `fl`: names with commas between them.
    pub fn list(text: &str) -> Vec<Column> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names
            .map(|name| Column {
                name: name.to_owned(),
                field: Field::named(name),
            })
            .collect()
    }

    fn value<'r>(&self, row: &'r CdxRow) -> Option<Cow<'r, str>> {
        self.field.and_then(|field| field.value(row))
    }

    fn text<'r>(&self, row: &'r CdxRow) -> Cow<'r, str> {
        self.value(row).unwrap_or(Cow::Borrowed(NONE))
    }
}

/// Writes one answer, piece by piece.
pub struct Writer {
    form: Form,
    columns: Vec<Column>,
    /// Whether `columns` were asked for, which leaves the rest out of objects too.
    chosen: bool,
    begun: bool,
}

impl Writer {
    /// Writes in `form`; `chosen` columns, or those of the dialect.
    pub fn new(form: Form, dialect: Dialect, chosen: Option<Vec<Column>>) -> Writer {
        Writer {
            form,
            chosen: chosen.is_some(),
            columns: chosen.unwrap_or_else(|| form.columns(dialect)),
            begun: false,
        }
    }

    /// The next rows as text.
    pub fn rows(&mut self, rows: &[CdxRow]) -> String {
        let mut text = String::new();
        for row in rows {
            match self.form {
                Form::Cdxj => text.push_str(&self.cdxj(row)),
                Form::Lines => text.push_str(&self.object(row)),
                Form::Text => self.push_columns(&mut text, row),
                Form::Arrays => {
                    self.begin(&mut text);
                    let values = self.columns.iter().map(|column| column.text(row));
                    text.push_str(",\n");
                    push_array(&mut text, values);
                }
            }
        }
        text
    }

    /// What follows the last row: the resumption key, after a row that is empty.
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
            (_, Some(key)) => {
                // Writing to a string cannot fail.
                let _ = write!(text, "\n{key}\n");
            }
            (_, None) => {}
        }
        text
    }

    /// The line of names, before the first row; where there is no row there are no names.
    fn begin(&mut self, text: &mut String) {
        if !self.begun {
            text.push('[');
            push_array(
                text,
                self.columns
                    .iter()
                    .map(|column| Cow::Borrowed(column.name.as_str())),
            );
            self.begun = true;
        }
    }

    fn push_columns(&self, text: &mut String, row: &CdxRow) {
        for (n, column) in self.columns.iter().enumerate() {
            if n > 0 {
                text.push(' ');
            }
            push_word(text, &column.text(row));
        }
        text.push('\n');
    }

    fn cdxj(&self, row: &CdxRow) -> String {
        if !self.chosen {
            return cdxj_line(row);
        }
        // Key and time stand before the object in any case.
        let inside = |column: &&Column| !matches!(column.field, Some(Field::UrlKey | Field::Timestamp));
        let pairs = self
            .columns
            .iter()
            .filter(inside)
            .map(|c| (c.name.as_str(), c.value(row)));
        format!("{} {}\n", place(row), object_of(pairs))
    }

    fn object(&self, row: &CdxRow) -> String {
        let pairs = self.columns.iter().map(|c| (c.name.as_str(), c.value(row)));
        let known = [Field::UrlKey, Field::Timestamp].into_iter().chain(IN_CDXJ);
        let all = known.map(|field| (field.name(), field.value(row)));
        match self.chosen {
            true => format!("{}\n", object_of(pairs)),
            false => format!("{}\n", object_of(all)),
        }
    }
}

/// Fields of the object of a CDXJ line.
const IN_CDXJ: [Field; 7] = [
    Field::Url,
    Field::Mime,
    Field::Status,
    Field::Digest,
    Field::Length,
    Field::Offset,
    Field::Filename,
];

/// `urlkey timestamp {json}` and a line end: numbers as strings and no `status` where there is none, nor for
/// revisits, as pywb writes it.
pub fn cdxj_line(row: &CdxRow) -> String {
    let pairs = IN_CDXJ.into_iter().map(|field| (field.name(), field.value(row)));
    format!("{} {}\n", place(row), object_of(pairs))
}

/// A key holds no white space; should one ever, the line's fields must still be told apart.
fn place(row: &CdxRow) -> String {
    let mut place = String::with_capacity(row.url_key.len() + 15);
    push_word(&mut place, &row.url_key);
    place.push(' ');
    push_word(&mut place, &row.timestamp);
    place
}

fn object_of<'r>(pairs: impl Iterator<Item = (&'r str, Option<Cow<'r, str>>)>) -> String {
    let mut json = String::from("{");
    for (name, value) in pairs {
        let Some(value) = value else { continue };
        let comma = if json.len() > 1 { ", " } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(json, "{comma}{}: {}", quoted(name), quoted(&value));
    }
    json.push('}');
    json
}

fn push_array<'r>(text: &mut String, values: impl Iterator<Item = Cow<'r, str>>) {
    text.push('[');
    for (n, value) in values.enumerate() {
        let comma = if n > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{}", quoted(&value));
    }
    text.push(']');
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests;

//! Buffered rows of a file, column by column.

use crate::field::{Field, Kind};

/// The values of one column. A row without a value has no entry.
#[derive(Debug)]
pub enum Values {
    /// UTF-8.
    Text {
        /// The texts, one after another.
        bytes: Vec<u8>,
        /// End of each text in `bytes`.
        ends: Vec<usize>,
    },
    /// For [`Kind::Int`].
    Int(Vec<i32>),
    /// For [`Kind::Long`], and for [`Kind::Time`] in its unit.
    Long(Vec<i64>),
    /// For [`Kind::Bool`].
    Bool(Vec<bool>),
}

impl Values {
    fn of(kind: Kind) -> Values {
        match kind {
            Kind::Text => Values::Text {
                bytes: Vec::new(),
                ends: Vec::new(),
            },
            Kind::Int => Values::Int(Vec::new()),
            Kind::Long | Kind::Time | Kind::TimeMs => Values::Long(Vec::new()),
            Kind::Bool => Values::Bool(Vec::new()),
        }
    }
}

/// One column of rows.
#[derive(Debug)]
pub struct Column {
    /// Its name and type.
    pub field: &'static Field,
    /// The values of the rows that have one.
    pub values: Values,
    /// Parquet's definition levels: 1 for each row with a value, 0 for each without. Empty if the
    /// field is not nullable.
    pub levels: Vec<i16>,
}

impl Column {
    fn reserve_like(&mut self, model: &Column) {
        self.levels.reserve(model.levels.len());
        match (&mut self.values, &model.values) {
            (Values::Text { bytes, ends }, Values::Text { bytes: b, ends: e }) => {
                bytes.reserve(b.len() + b.len() / 8);
                ends.reserve(e.len());
            }
            (Values::Int(values), Values::Int(model)) => values.reserve(model.len()),
            (Values::Long(values), Values::Long(model)) => values.reserve(model.len()),
            (Values::Bool(values), Values::Bool(model)) => values.reserve(model.len()),
            _ => {}
        }
    }
}

/// Rows of a table, in the order of the file.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<Column>,
    count: usize,
}

impl Rows {
    pub(crate) fn new(fields: &'static [Field]) -> Rows {
        let column = |field: &'static Field| Column {
            field,
            values: Values::of(field.kind),
            levels: Vec::new(),
        };
        Rows {
            columns: fields.iter().map(column).collect(),
            count: 0,
        }
    }

    /// Returns an empty buffer with memory for as many rows of the same size.
    pub(crate) fn like(&self, fields: &'static [Field]) -> Rows {
        let mut rows = Rows::new(fields);
        for (column, model) in rows.columns.iter_mut().zip(&self.columns) {
            column.reserve_like(model);
        }
        rows
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the bytes of all texts.
    pub(crate) fn text_bytes(&self) -> usize {
        let bytes_of = |column: &Column| match &column.values {
            Values::Text { bytes, .. } => bytes.len(),
            Values::Int(_) | Values::Long(_) | Values::Bool(_) => 0,
        };
        self.columns.iter().map(bytes_of).sum()
    }

    /// Starts a row. Its values follow in the order of the fields.
    pub(crate) fn row(&mut self) -> Row<'_> {
        Row { rows: self, next: 0 }
    }
}

/// A row being written. It must get one value for each column, in the order of the columns and of their kinds, and
/// [`Row::end`]; a mistake here is one of the program, and panics.
#[derive(Debug)]
pub struct Row<'a> {
    rows: &'a mut Rows,
    next: usize,
}

/// A value, of the type that its column stores.
enum Value<'v> {
    Text(&'v str),
    Int(i32),
    Long(i64),
    Bool(bool),
    Null,
}

impl Row<'_> {
    fn put(&mut self, value: Value<'_>) -> &mut Self {
        let column = &mut self.rows.columns[self.next];
        self.next += 1;
        let field = column.field;
        assert!(
            field.is_nullable || !matches!(value, Value::Null),
            "{} must have a value in every row",
            field.name
        );
        if field.is_nullable {
            column.levels.push(i16::from(!matches!(value, Value::Null)));
        }
        let fits = match (value, &mut column.values) {
            (Value::Text(value), Values::Text { bytes, ends }) => {
                bytes.extend_from_slice(value.as_bytes());
                ends.push(bytes.len());
                true
            }
            (Value::Int(value), Values::Int(values)) => {
                values.push(value);
                true
            }
            (Value::Long(value), Values::Long(values)) => {
                values.push(value);
                true
            }
            (Value::Bool(value), Values::Bool(values)) => {
                values.push(value);
                true
            }
            (Value::Null, _) => true,
            _ => false,
        };
        assert!(
            fits,
            "column {} of {:?} got another value",
            field.name, field.kind
        );
        self
    }

    /// Adds the value of a column of [`Kind::Text`].
    pub fn text(&mut self, value: &str) -> &mut Self {
        self.put(Value::Text(value))
    }

    pub(crate) fn int(&mut self, value: i32) -> &mut Self {
        self.put(Value::Int(value))
    }

    /// Adds the value of a column of [`Kind::Long`], [`Kind::Time`] or [`Kind::TimeMs`].
    pub fn long(&mut self, value: i64) -> &mut Self {
        self.put(Value::Long(value))
    }

    /// Adds the value of a column of [`Kind::Bool`].
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.put(Value::Bool(value))
    }

    /// Adds null to a nullable column.
    pub fn none(&mut self) -> &mut Self {
        self.put(Value::Null)
    }

    /// Adds a value of [`Row::long`], or null.
    pub fn optional_long(&mut self, value: Option<i64>) -> &mut Self {
        match value {
            Some(value) => self.long(value),
            None => self.none(),
        }
    }

    /// Writes a host name in lower case, or no value if it is empty.
    pub(crate) fn host(&mut self, value: &str) -> &mut Self {
        if value.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.text(&value.to_ascii_lowercase())
        } else {
            self.text_if_any(value)
        }
    }

    /// Writes a text, or no value if it is empty.
    pub(crate) fn text_if_any(&mut self, value: &str) -> &mut Self {
        if value.is_empty() {
            self.none()
        } else {
            self.text(value)
        }
    }

    /// Ends the row.
    pub fn end(&mut self) {
        assert_eq!(self.next, self.rows.columns.len(), "a row has all columns");
        self.rows.count += 1;
    }
}

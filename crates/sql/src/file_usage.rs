//! `file_usage`: totals that the catalogue of files maintains by owner, group, type and format.

use std::sync::{Arc, LazyLock};

use catalogue::{Catalogue, Group, NO_OWNER, Usage};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use system::users::Names;

use crate::SqlError;

/// The content of a column.
#[derive(Debug, Clone, Copy)]
enum Sum {
    Owner,
    GroupName,
    Type,
    Format,
    Uid,
    Gid,
    /// A number of the row.
    Number(fn(&(Group, Usage)) -> i64),
}

/// Names of the columns, in order.
const COLUMNS: [(&str, Sum); 9] = [
    ("owner", Sum::Owner),
    ("group_name", Sum::GroupName),
    ("uid", Sum::Uid),
    ("gid", Sum::Gid),
    ("type", Sum::Type),
    ("format", Sum::Format),
    ("entries", Sum::Number(|(_, usage)| usage.entries)),
    ("size_bytes", Sum::Number(|(_, usage)| usage.size_bytes)),
    ("disk_size_bytes", Sum::Number(|(_, usage)| usage.disk_bytes())),
];

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let field = |(name, sum): (&str, Sum)| {
        let data_type = match sum {
            Sum::Number(_) | Sum::Uid | Sum::Gid => DataType::Int64,
            Sum::Owner | Sum::GroupName | Sum::Type | Sum::Format => DataType::Utf8View,
        };
        // Objects of a store have no owner.
        let is_nullable = matches!(sum, Sum::Owner | Sum::GroupName | Sum::Uid | Sum::Gid);
        Field::new(name, data_type, is_nullable)
    };
    Arc::new(Schema::new(COLUMNS.map(field).to_vec()))
});

pub(crate) fn schema() -> SchemaRef {
    SCHEMA.clone()
}

/// Returns all rows, which are few, with these columns of [`schema`].
pub(crate) fn rows(
    catalogue: &Catalogue,
    projection: &[usize],
    rows_max: Option<usize>,
) -> Result<RecordBatch> {
    let mut groups = catalogue.groups().map_err(SqlError::Files)?;
    groups.truncate(rows_max.unwrap_or(usize::MAX));
    let mut names = Names::default();
    let arrays = projection
        .iter()
        .map(|&place| array(COLUMNS[place].1, &groups, &mut names));
    let arrays = arrays.collect();
    let options = RecordBatchOptions::new().with_row_count(Some(groups.len()));
    let schema = Arc::new(schema().project(projection)?);
    Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
}

fn array(sum: Sum, groups: &[(Group, Usage)], names: &mut Names) -> ArrayRef {
    let rows = groups.iter();
    let account = |number: u32| (number != NO_OWNER).then_some(number);
    let texts: StringViewArray = match sum {
        Sum::Number(of) => return Arc::new(rows.map(|row| Some(of(row))).collect::<Int64Array>()),
        Sum::Uid => {
            let uids = rows.map(|(group, _)| account(group.uid).map(i64::from));
            return Arc::new(uids.collect::<Int64Array>());
        }
        Sum::Gid => {
            let gids = rows.map(|(group, _)| account(group.gid).map(i64::from));
            return Arc::new(gids.collect::<Int64Array>());
        }
        Sum::Owner => rows
            .map(|(group, _)| account(group.uid).map(|uid| names.user(uid).to_owned()))
            .collect(),
        Sum::GroupName => rows
            .map(|(group, _)| account(group.gid).map(|gid| names.group(gid).to_owned()))
            .collect(),
        Sum::Type => rows.map(|(group, _)| Some(group.kind.name())).collect(),
        Sum::Format => rows.map(|(group, _)| Some(group.format.name())).collect(),
    };
    Arc::new(texts)
}

//! Reads a live view in batches, as a partial dump from the owner of the archive.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use archive::Cut;
use archive::question::{DumpFormat, DumpRange};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalSortExpr};

use crate::SqlError;
use crate::leaf_exec::{LeafExec, RowSource};
use crate::rows::RowSink;
use crate::tables::LiveTable;

/// A dump of a view, or of a range of it.
#[derive(Clone)]
pub(crate) struct LiveDump {
    table: LiveTable,
    cut: Arc<Cut>,
    range: DumpRange,
}

/// Returns the plan of a dump.
pub(crate) fn live_exec(
    table: LiveTable,
    cut: Arc<Cut>,
    range: DumpRange,
    projection: &[usize],
) -> Result<LeafExec<LiveDump>> {
    let schema = Arc::new(table.schema().project(projection)?);
    // The rows are sorted by those leading columns of the order that are read.
    let sorted = table.order().iter().map_while(|&(name, descending)| {
        let place = schema.index_of(name).ok()?;
        let options = SortOptions {
            descending,
            nulls_first: false,
        };
        Some(PhysicalSortExpr::new(Arc::new(Column::new(name, place)), options))
    });
    let equivalences = EquivalenceProperties::new_with_orderings(schema.clone(), LexOrdering::new(sorted));
    Ok(LeafExec::new(LiveDump { table, cut, range }, equivalences))
}

impl RowSource for LiveDump {
    const NAME: &'static str = "LiveExec";

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of epoch {}", self.table.view.name(), self.cut.epoch())?;
        if let Some(from) = &self.range.from {
            write!(f, ", from {from:?}")?;
        }
        if let Some(to) = &self.range.to {
            write!(f, ", up to {to:?}")?;
        }
        Ok(())
    }

    fn rows_max(&self) -> Option<usize> {
        self.range
            .rows_max
            .map(|rows| usize::try_from(rows).unwrap_or(usize::MAX))
    }

    fn set_rows_max(&mut self, rows_max: Option<usize>) {
        self.range.rows_max = rows_max.map(|rows| rows as u64);
    }

    fn read(&self, schema: &SchemaRef, mut give: impl FnMut(RecordBatch) -> bool) -> Result<()> {
        let columns = self.table.schema();
        let names: Vec<&str> = columns
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        let mut is_unwanted = false;
        let mut sink = RowSink::new(&names, schema.clone(), |batch| {
            is_unwanted = !give(batch);
            if is_unwanted {
                return Err(io::Error::from(ErrorKind::BrokenPipe));
            }
            Ok(())
        });
        let dumped = self
            .cut
            .dump(self.table.view, self.range.clone(), DumpFormat::Tsv, &mut sink);
        let finished = match dumped {
            Ok(_) => sink
                .finish()
                .map_err(|error| SqlError::Execution(error.to_string()).into()),
            Err(error) => Err(SqlError::Ask(error).into()),
        };
        if is_unwanted { Ok(()) } else { finished }
    }
}

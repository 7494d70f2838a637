//! A simple chart of an answer: its first numeric column by its first other column.

use std::collections::HashSet;

use maud::{Markup, html};
use sql::arrow::array::{Array, AsArray, RecordBatch};
use sql::arrow::compute::cast;
use sql::arrow::datatypes::{DataType, Float64Type, SchemaRef};
use sql::arrow::util::display::{ArrayFormatter, FormatOptions};
use ui::chart::Bar;

/// Maximum number of bars; a chart with more is unreadable.
const BARS_MAX: usize = 60;

/// Suffix of times at the start of a day.
const MIDNIGHT: &str = " 00:00";

/// A chart to draw.
pub(super) struct Chart {
    name: String,
    /// Whether the bars are ordered by time instead of by size.
    is_over_time: bool,
    bars: Vec<Bar>,
}

impl Chart {
    /// Returns the chart of an answer that can have one: from two rows to a few dozen, with unique
    /// names or times, and non-negative numbers.
    pub(super) fn from_rows(schema: &SchemaRef, batches: &[RecordBatch]) -> Option<Chart> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        if !(2..=BARS_MAX).contains(&rows) {
            return None;
        }
        let types = || schema.fields().iter().map(|field| field.data_type());
        let of_names = types().position(|r#type| !r#type.is_numeric())?;
        let of_numbers = types().position(DataType::is_numeric)?;
        let is_over_time = schema.field(of_names).data_type().is_temporal();
        let format = Some("%Y-%m-%d %H:%M");
        let options = FormatOptions::new()
            .with_timestamp_tz_format(format)
            .with_timestamp_format(format);
        let mut bars = Vec::new();
        for batch in batches {
            let names = ArrayFormatter::try_new(batch.column(of_names), &options).ok()?;
            let numbers = cast(batch.column(of_numbers), &DataType::Float64).ok()?;
            let numbers = numbers.as_primitive::<Float64Type>();
            for row in 0..batch.num_rows() {
                let value = if numbers.is_null(row) {
                    0.0
                } else {
                    numbers.value(row)
                };
                if !value.is_finite() || value < 0.0 {
                    return None;
                }
                let name = names.value(row).to_string();
                bars.push(Bar { name, value });
            }
        }
        // Rows that share a name are a list, not the values of a series.
        let names: HashSet<&str> = bars.iter().map(|bar| &*bar.name).collect();
        if names.len() < bars.len() {
            return None;
        }
        if bars.iter().all(|bar| bar.name.ends_with(MIDNIGHT)) {
            bars.iter_mut()
                .for_each(|bar| bar.name.truncate(bar.name.len() - MIDNIGHT.len()));
        }
        if is_over_time {
            // In this format the order of texts is the order of times.
            bars.sort_by(|one, other| one.name.cmp(&other.name));
        }
        Some(Chart {
            name: format!(
                "{} by {}",
                schema.field(of_numbers).name(),
                schema.field(of_names).name()
            ),
            is_over_time,
            bars,
        })
    }

    pub(super) fn render(&self) -> Markup {
        html! {
            details.drawing open {
                summary { "Chart" }
                @if self.is_over_time { (ui::chart::columns(&self.name, &self.bars)) }
                @else { (ui::chart::bars(&self.name, &self.bars)) }
            }
        }
    }
}

//! A simple chart of an answer: its first column of numbers against its first column of anything else.

use std::collections::HashSet;

use look::chart::Bar;
use maud::{Markup, html};
use sql::arrow::array::{Array, AsArray, RecordBatch};
use sql::arrow::compute::cast;
use sql::arrow::datatypes::{DataType, Float64Type, SchemaRef};
use sql::arrow::util::display::{ArrayFormatter, FormatOptions};

/// More bars than this say nothing.
const BARS_MAX: usize = 60;

/// How the times of days end.
const MIDNIGHT: &str = " 00:00";

/// What is drawn.
pub(super) struct Chart {
    name: String,
    /// Whether the bars follow one another in time, rather than by their size.
    is_over_time: bool,
    bars: Vec<Bar>,
}

impl Chart {
    /// The chart of an answer that has one: from two rows to a few dozen, of names or times, each once, and
    /// numbers from 0 up.
    pub(super) fn of(schema: &SchemaRef, batches: &[RecordBatch]) -> Option<Chart> {
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
        // Rows that share a name are a list, and no figures of something.
        let names: HashSet<&str> = bars.iter().map(|bar| &*bar.name).collect();
        if names.len() < bars.len() {
            return None;
        }
        if bars.iter().all(|bar| bar.name.ends_with(MIDNIGHT)) {
            bars.iter_mut()
                .for_each(|bar| bar.name.truncate(bar.name.len() - MIDNIGHT.len()));
        }
        if is_over_time {
            // Written so, times are in order where their texts are.
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

    pub(super) fn drawn(&self) -> Markup {
        html! {
            details.drawing open {
                summary { "Chart" }
                @if self.is_over_time { (look::chart::columns(&self.name, &self.bars)) }
                @else { (look::chart::bars(&self.name, &self.bars)) }
            }
        }
    }
}

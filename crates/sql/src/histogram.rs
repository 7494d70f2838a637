//! `histogram(value)`: how often each value occurs, as a map. NULL is not counted; without values
//! the result is NULL.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, MapArray, StructArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

/// Returns the function.
pub(crate) fn histogram() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(Histogram {
        signature: Signature::any(1, Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Histogram {
    signature: Signature,
}

/// Returns the type of keys for values of a type. Views are copied: they would keep the buffers of
/// all rows.
fn key_type_of(value: &DataType) -> DataType {
    match value {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, of) => key_type_of(of),
        other => other.clone(),
    }
}

/// Returns the fields of an entry of the map.
fn entry_fields(key_type: &DataType) -> Fields {
    vec![
        Field::new("key", key_type.clone(), false),
        Field::new("value", DataType::Int64, true),
    ]
    .into()
}

fn entries_field(key_type: &DataType) -> FieldRef {
    Arc::new(Field::new(
        "entries",
        DataType::Struct(entry_fields(key_type)),
        false,
    ))
}

impl AggregateUDFImpl for Histogram {
    fn name(&self) -> &str {
        "histogram"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [value] = types else {
            return plan_err!("histogram takes one argument");
        };
        Ok(DataType::Map(entries_field(&key_type_of(value)), false))
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let [value] = args.expr_fields else {
            return plan_err!("histogram takes one argument");
        };
        if args.is_distinct {
            return plan_err!("histogram(DISTINCT ...) is not supported; every count would be 1");
        }
        Ok(Box::new(Counts {
            key_type: key_type_of(value.data_type()),
            counts: HashMap::new(),
            key_bytes: 0,
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let [value] = args.input_fields else {
            return plan_err!("histogram takes one argument");
        };
        let list = |name: &str, of: DataType| {
            let name = format_state_name(args.name, name);
            Arc::new(Field::new(name, DataType::new_list(of, true), true))
        };
        Ok(vec![
            list("keys", key_type_of(value.data_type())),
            list("counts", DataType::Int64),
        ])
    }
}

/// The counts of one group.
#[derive(Debug)]
struct Counts {
    key_type: DataType,
    counts: HashMap<ScalarValue, i64>,
    /// The memory of the keys.
    key_bytes: usize,
}

impl Counts {
    fn add(&mut self, key: ScalarValue, count: i64) {
        if let Some(known) = self.counts.get_mut(&key) {
            *known += count;
            return;
        }
        self.key_bytes += key.size();
        self.counts.insert(key, count);
    }

    /// Returns the keys in order, and their counts.
    fn sorted(&self) -> (Vec<ScalarValue>, Vec<i64>) {
        let mut sorted: Vec<(&ScalarValue, i64)> =
            self.counts.iter().map(|(key, count)| (key, *count)).collect();
        sorted.sort_by(|(one, _), (other, _)| one.partial_cmp(other).unwrap_or(Ordering::Equal));
        sorted
            .into_iter()
            .map(|(key, count)| (key.clone(), count))
            .unzip()
    }
}

impl Accumulator for Counts {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else {
            return exec_err!("histogram takes one argument");
        };
        let values = cast(values, &self.key_type)?;
        for row in (0..values.len()).filter(|row| !values.is_null(*row)) {
            self.add(ScalarValue::try_from_array(&values, row)?, 1);
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [keys, counts] = states else {
            return exec_err!("a histogram has two lists as its state");
        };
        let (keys, counts) = (keys.as_list::<i32>(), counts.as_list::<i32>());
        for row in (0..keys.len()).filter(|row| !keys.is_null(*row)) {
            let (keys, counts) = (keys.value(row), counts.value(row));
            let counts = counts.as_primitive::<Int64Type>();
            for place in 0..keys.len() {
                self.add(ScalarValue::try_from_array(&keys, place)?, counts.value(place));
            }
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (keys, counts) = self.sorted();
        let counts: Vec<ScalarValue> = counts.into_iter().map(ScalarValue::from).collect();
        Ok(vec![
            ScalarValue::List(ScalarValue::new_list(&keys, &self.key_type, true)),
            ScalarValue::List(ScalarValue::new_list(&counts, &DataType::Int64, true)),
        ])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let entries = entries_field(&self.key_type);
        if self.counts.is_empty() {
            return ScalarValue::try_from(&DataType::Map(entries, false));
        }
        let (keys, counts) = self.sorted();
        let offsets = OffsetBuffer::from_lengths([keys.len()]);
        let keys = ScalarValue::iter_to_array(keys)?;
        let counts: ArrayRef = Arc::new(Int64Array::from(counts));
        let rows = StructArray::try_new(entry_fields(&self.key_type), vec![keys, counts], None)?;
        let map = MapArray::try_new(entries, offsets, rows, None, false)?;
        ScalarValue::try_from_array(&map, 0)
    }

    fn size(&self) -> usize {
        let entry = size_of::<(ScalarValue, i64)>();
        size_of_val(self) + self.counts.capacity() * entry + self.key_bytes
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::StringViewArray;
    use datafusion::arrow::util::display::array_value_to_string;

    use super::*;

    fn counts(values: &[Option<&str>]) -> Counts {
        let mut counts = Counts {
            key_type: key_type_of(&DataType::Utf8View),
            counts: HashMap::new(),
            key_bytes: 0,
        };
        let values: ArrayRef = Arc::new(values.iter().copied().collect::<StringViewArray>());
        counts.update_batch(&[values]).unwrap();
        counts
    }

    fn shown(counts: &mut Counts) -> String {
        let map = counts.evaluate().unwrap().to_array().unwrap();
        array_value_to_string(&map, 0).unwrap()
    }

    #[test]
    fn values_are_counted_in_parts_too() {
        let mut all = counts(&[Some("b"), None, Some("a"), Some("b")]);
        assert_eq!(shown(&mut all), "{a: 1, b: 2}");
        let states: Vec<ArrayRef> = counts(&[Some("b"), Some("c")])
            .state()
            .unwrap()
            .iter()
            .map(|state| state.to_array().unwrap())
            .collect();
        all.merge_batch(&states).unwrap();
        assert_eq!(shown(&mut all), "{a: 1, b: 3, c: 1}");
    }

    #[test]
    fn without_values_there_is_none() {
        assert!(counts(&[None]).evaluate().unwrap().is_null());
        let states = counts(&[]).state().unwrap();
        assert_eq!(states.len(), 2);
    }
}

//! Documents on their way to the indexing threads, bounded in bytes.
//!
//! tantivy bounds its queue by number (10,000), which with texts of 1 MiB would be 10 GB. A
//! [`Queued`] document holds a [`Permit`] for its bytes until the indexing thread is done with it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tantivy::schema::Field;
use tantivy::{Document, TantivyDocument};

/// Bytes that may be under way at once.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes_max: usize,
    /// At most `bytes_max`, or one document alone.
    bytes_used: Mutex<usize>,
    freed: Condvar,
}

/// A share of a [`Budget`], given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(bytes_max: usize) -> Arc<Budget> {
        Arc::new(Budget {
            bytes_max,
            bytes_used: Mutex::new(0),
            freed: Condvar::new(),
        })
    }

    /// Waits until `bytes` fit, but not longer than `wait_max`. What is larger than the whole budget
    /// fits when it is alone.
    pub(crate) fn acquire(self: &Arc<Budget>, bytes: usize, wait_max: Duration) -> Option<Permit> {
        let mut used = self.bytes_used.lock();
        // What is larger than the budget waits until it is alone, or it would wait for ever.
        let full = |used: &mut usize| *used > 0 && *used + bytes > self.bytes_max;
        self.freed.wait_while_for(&mut used, full, wait_max);
        if full(&mut used) {
            return None;
        }
        *used += bytes;
        Some(Permit {
            budget: Arc::clone(self),
            bytes,
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.budget.bytes_used.lock() -= self.bytes;
        // All of them: the first in line may want more than was freed, and one behind it less.
        self.budget.freed.notify_all();
    }
}

/// A document in tantivy's queue.
pub(crate) struct Queued {
    pub(crate) document: TantivyDocument,
    pub(crate) _permit: Permit,
}

impl Document for Queued {
    type Value<'a> = <TantivyDocument as Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.document.iter_fields_and_values()
    }

    fn into_tantivy_document(self) -> TantivyDocument {
        self.document
    }

    fn get_sorted_field_values(&self) -> Vec<(Field, Vec<Self::Value<'_>>)> {
        self.document.get_sorted_field_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_budget_waits_for_the_one_before() {
        let budget = Budget::new(10);
        let wait = Duration::from_secs(60);
        let first = budget.acquire(8, wait).unwrap();
        assert!(budget.acquire(3, Duration::ZERO).is_none());
        let second = {
            let budget = Arc::clone(&budget);
            std::thread::spawn(move || budget.acquire(50, wait))
        };
        drop(first);
        let second = second.join().unwrap().unwrap();
        assert_eq!(*budget.bytes_used.lock(), 50);
        drop(second);
        assert_eq!(*budget.bytes_used.lock(), 0);
    }
}

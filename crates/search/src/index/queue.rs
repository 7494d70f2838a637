//! Documents on their way to the indexing threads, limited by bytes.
//!
//! tantivy limits its queue by number (10,000), which would be 10 GB with texts of 1 MiB. A
//! [`QueuedDocument`] holds a [`Permit`] for its bytes until the indexing thread has finished with
//! it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tantivy::schema::Field;
use tantivy::{Document, TantivyDocument};

/// A limit on the bytes in the queue.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes_max: usize,
    /// At most `bytes_max`, or one larger document.
    bytes_used: Mutex<usize>,
    freed: Condvar,
}

/// A share of a [`Budget`], returned when dropped.
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

    /// Waits until `bytes` fit, but no longer than `wait_max`. A document larger than the whole
    /// budget fits when the queue is empty.
    pub(crate) fn acquire(self: &Arc<Budget>, bytes: usize, wait_max: Duration) -> Option<Permit> {
        let mut used = self.bytes_used.lock();
        // A document larger than the budget must fit when the queue is empty, or it would wait
        // forever.
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
        // Wake all: the first waiter may need more than was released, and a later one less.
        self.budget.freed.notify_all();
    }
}

/// A document in tantivy's queue.
pub(crate) struct QueuedDocument {
    pub(crate) document: TantivyDocument,
    pub(crate) _permit: Permit,
}

impl Document for QueuedDocument {
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

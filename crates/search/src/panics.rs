//! tantivy takes its files to be as it wrote them, and panics on some that are not. Here that becomes an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tantivy::TantivyError;

/// Runs what reads the index; a panic in it is an error that says so.
///
/// Nothing is left half done by it: reading changes nothing but caches, whose locks are not poisoned.
pub(crate) fn caught<T, E: From<TantivyError>>(read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let message = format!("a file is not as it was written: {}", text.unwrap_or("unknown"));
        Err(TantivyError::InternalError(message).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_text() {
        let error = caught(|| -> tantivy::Result<()> { panic!("offset {} too large", 7) }).unwrap_err();
        assert!(error.to_string().contains("offset 7 too large"), "{error}");
        assert_eq!(caught(|| Ok::<_, TantivyError>(7)).unwrap(), 7);
    }
}

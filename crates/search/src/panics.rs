//! Turns panics of tantivy into errors. tantivy trusts its files and panics on some damaged ones.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tantivy::TantivyError;

/// Runs `read`, which reads the index. A panic is returned as an error with its message.
///
/// Unwinding leaves no broken state: reading changes only caches, whose locks are not poisoned.
pub(crate) fn catch_panics<T, E: From<TantivyError>>(read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let message = format!("a file of the index is damaged: {}", text.unwrap_or("unknown"));
        Err(TantivyError::InternalError(message).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_text() {
        let error = catch_panics(|| -> tantivy::Result<()> { panic!("offset {} too large", 7) }).unwrap_err();
        assert!(error.to_string().contains("offset 7 too large"), "{error}");
        assert_eq!(catch_panics(|| Ok::<_, TantivyError>(7)).unwrap(), 7);
    }
}

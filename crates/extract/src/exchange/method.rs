//! The method of a request.

/// Longest method, in bytes; the longest registered one has 17.
const METHOD_BYTES_MAX: usize = 32;

/// Returns the method of an HTTP request, in upper case: the first word of its block, if it is
/// valid.
pub(super) fn method_of(block: &[u8]) -> Option<String> {
    let line = &block[..block.len().min(METHOD_BYTES_MAX + 1)];
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t'))?;
    checked_method(std::str::from_utf8(&line[..end]).ok()?)
}

/// Returns a word as a method, in upper case; `None` if it is no token (RFC 9110, 9.1) or too long.
pub(crate) fn checked_method(word: &str) -> Option<String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_method = !word.is_empty() && word.len() <= METHOD_BYTES_MAX && word.bytes().all(is_token);
    is_method.then(|| word.to_ascii_uppercase())
}

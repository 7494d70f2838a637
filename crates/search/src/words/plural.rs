//! English plurals: the stemming for pages whose language is unknown.
//!
//! Harman's three rules, with plurals in `es`. They do not depend on the language, rarely join
//! words that only look alike, and mostly just remove an `s` in other languages, where it often
//! marks the plural too.

/// Endings after which a plural has `es`. The `e` is also removed from singulars (`cache`), because
/// the plural does not show whether it belongs to them.
const BEFORE_ES: [&str; 5] = ["x", "ss", "sh", "ch", "zz"];

/// Minimum length of the rest when an `e` is removed: `axe` and `she` are kept.
const STEM_BYTES_MIN: usize = 3;

/// Removes the ending of a plural: `queries`, `pages`, `shoes`, `boxes`, but not of `class`,
/// `status` or `dns`.
pub(super) fn singular(word: &mut String) {
    let ends = |word: &str, endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    let is_plural = word.len() > 3 && word.ends_with('s') && !ends(word, &["ss", "us"]) && word != "news";
    if is_plural && word.ends_with("ies") && !ends(word, &["eies", "aies"]) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if is_plural {
        word.pop();
    }
    if let Some(stem) = word.strip_suffix('e')
        && stem.len() >= STEM_BYTES_MIN
        && ends(stem, &BEFORE_ES)
    {
        word.pop();
    }
}

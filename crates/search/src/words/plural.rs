//! English plurals: what is done to the words of a page whose language is not known.
//!
//! Harman's three rules, and the plurals in `es`. They need no language, join few words that only look alike, and do
//! little in other languages than to cut an `s`, which is the plural of several.

/// Endings after which a plural has `es`. Their `e` goes from singulars as well (`cache`), because the
/// plural does not tell whether it belonged to them.
const BEFORE_ES: [&str; 5] = ["x", "ss", "sh", "ch", "zz"];

/// Shortest word that is left when an `e` is taken off: `axe` and `she` stay.
const STEM_BYTES_MIN: usize = 3;

/// Takes the plural's ending off: `queries`, `pages`, `shoes`, `boxes`, but not of `class`, `status` or `dns`.
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

//! Splits a normalised text into pieces.

use super::category::is_punctuation;
use super::json::{PrependSchemeJson, SplitterJson};

/// A step that splits a text into pieces.
pub(super) enum Splitter {
    /// At white space and around each punctuation mark.
    Bert,
    /// At white space.
    WhiteSpace,
    /// Around each punctuation mark.
    Punctuation,
    /// Before each space, which is replaced by `mark`.
    Metaspace {
        mark: char,
        prepend: Prepend,
        splits: bool,
    },
}

/// Where a mark is put before a text that does not begin with one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Prepend {
    Always,
    /// At the beginning of the whole text.
    First,
    Never,
}

impl Splitter {
    /// Returns the steps of a file.
    pub(super) fn all(json: Option<SplitterJson>) -> Result<Vec<Splitter>, String> {
        let Some(json) = json else {
            return Ok(Vec::new());
        };
        Ok(vec![match json {
            SplitterJson::Sequence { pretokenizers } => {
                let steps: Result<Vec<_>, _> = pretokenizers
                    .into_iter()
                    .map(|json| Splitter::all(Some(json)))
                    .collect();
                return Ok(steps?.into_iter().flatten().collect());
            }
            SplitterJson::BertPreTokenizer => Splitter::Bert,
            SplitterJson::WhitespaceSplit => Splitter::WhiteSpace,
            SplitterJson::Punctuation { behavior } => match behavior.as_deref() {
                None | Some("Isolated") => Splitter::Punctuation,
                Some(other) => return Err(format!("punctuation that is {other} is not supported")),
            },
            SplitterJson::Metaspace {
                replacement,
                prepend_scheme,
                add_prefix_space,
                split,
            } => Splitter::Metaspace {
                mark: replacement,
                prepend: match (prepend_scheme, add_prefix_space) {
                    (Some(PrependSchemeJson::First), _) => Prepend::First,
                    (Some(PrependSchemeJson::Never), _) | (None, Some(false)) => Prepend::Never,
                    (Some(PrependSchemeJson::Always), _) | (None, _) => Prepend::Always,
                },
                splits: split.unwrap_or(true),
            },
        }])
    }
}

/// Calls `each` with the pieces that the steps split a text into. `is_first` is whether the text is
/// the beginning of the whole text.
pub(super) fn pieces(steps: &[Splitter], text: &str, is_first: bool, each: &mut dyn FnMut(&str)) {
    let Some((step, rest)) = steps.split_first() else {
        if !text.is_empty() {
            each(text);
        }
        return;
    };
    let mut next = |piece: &str, from: usize| pieces(rest, piece, is_first && from == 0, each);
    match step {
        Splitter::Bert => split(text, char::is_whitespace, is_punctuation, &mut next),
        Splitter::WhiteSpace => split(text, char::is_whitespace, |_| false, &mut next),
        Splitter::Punctuation => split(text, |_| false, is_punctuation, &mut next),
        Splitter::Metaspace {
            mark,
            prepend,
            splits,
        } => {
            let marked = marked(text, *mark, *prepend, is_first);
            if *splits {
                split_before(&marked, *mark, &mut next);
            } else {
                next(&marked, 0);
            }
        }
    }
}

/// Splits a text at gaps, which are removed, and around marks. Each mark is a piece.
fn split(
    text: &str,
    is_gap: impl Fn(char) -> bool,
    is_mark: impl Fn(char) -> bool,
    next: &mut dyn FnMut(&str, usize),
) {
    let mut from = 0;
    for (index, c) in text.char_indices() {
        let (is_gap, is_mark) = (is_gap(c), is_mark(c));
        if !is_gap && !is_mark {
            continue;
        }
        let after = index + c.len_utf8();
        if from < index {
            next(&text[from..index], from);
        }
        if !is_gap {
            next(&text[index..after], index);
        }
        from = after;
    }
    if from < text.len() {
        next(&text[from..], from);
    }
}

/// Splits a text before each mark.
fn split_before(text: &str, mark: char, next: &mut dyn FnMut(&str, usize)) {
    let mut from = 0;
    for (index, _) in text.match_indices(mark) {
        if from < index {
            next(&text[from..index], from);
        }
        from = index;
    }
    next(&text[from..], from);
}

/// Returns a text with marks for its spaces, and before it.
fn marked(text: &str, mark: char, prepend: Prepend, is_first: bool) -> String {
    let begins = prepend == Prepend::Always || prepend == Prepend::First && is_first;
    let mut marked = String::with_capacity(text.len() + 3);
    if begins && !text.starts_with([' ', mark]) {
        marked.push(mark);
    }
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(' ') {
        marked.push_str(before);
        marked.push(mark);
        rest = after;
    }
    marked.push_str(rest);
    marked
}

//! Which of the wanted words each result has.

use crate::answer::compile::Compiler;
use crate::collect::RankedDoc;
use crate::index::view::View;
use crate::query::ParsedQuery;
use crate::scoring::rank::{self, Units};
use crate::scoring::wanted::Mode;

/// The wanted words of a result.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeldWords {
    /// The words that the page lacks, as written.
    pub(crate) missing: Vec<String>,
    /// What the page scores for having all words.
    pub(crate) all_words: Units,
}

/// Returns which words each of the results has, in their order.
pub(crate) fn of(
    view: &View,
    compiler: &Compiler<'_>,
    (parsed, mode): (&ParsedQuery, Mode),
    best: &[RankedDoc],
) -> tantivy::Result<Vec<HeldWords>> {
    let mut held = vec![HeldWords::default(); best.len()];
    let wanted = compiler.wanted(parsed, mode)?;
    if wanted.words.len() < 2 && wanted.demanded.is_empty() {
        // A page without the only word is no result.
        return Ok(held);
    }
    let all_words = rank::units(wanted.all_words);
    let words: Vec<String> = parsed.wanted().map(|(phrase, _)| phrase.to_string()).collect();
    let mut opened = None;
    // In the order of segments and documents, because lists are read forwards only.
    for index in super::sorted(best.len(), |index| best[index].address) {
        let address = best[index].address;
        let mut presence = match opened.take() {
            Some((segment, presence)) if segment == address.segment_ord => presence,
            _ => wanted.open_presence(view.searcher.segment_reader(address.segment_ord))?,
        };
        let of_page = presence.held(address.doc_id);
        let lacks = |(word, text): (usize, &String)| of_page.lacks(word).then(|| text.clone());
        held[index] = HeldWords {
            missing: words.iter().enumerate().filter_map(lacks).collect(),
            all_words: if of_page.has_all { all_words } else { 0 },
        };
        opened = Some((address.segment_ord, presence));
    }
    Ok(held)
}

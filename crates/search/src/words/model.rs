//! Reference implementation of splitting into words, letter by letter. The faster ones are compared
//! with it.

use std::io::Read;
use std::ops::Range;

use super::fold::{fold_any, lower_any};
use super::letters::Letters;
use super::script::{Class, class};

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelWord {
    pub(crate) folded: String,
    /// `None` if equal to `folded`.
    pub(crate) written: Option<String>,
    pub(crate) range: Range<usize>,
    pub(crate) first_end: usize,
}

/// Returns all words of a text.
pub(crate) fn words(text: &str) -> Vec<ModelWord> {
    let letters: Vec<_> = Letters::new(text).collect();
    let class_at = |at: usize| letters.get(at).map_or(Class::Gap, |letter| class(letter.c));
    let mut found = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let first = at;
        at += 1;
        let mut of_word = vec![letters[first].c];
        let mut end = letters[first].end;
        match class_at(first) {
            Class::Gap | Class::Mark => continue,
            Class::Pair => {
                while class_at(at) == Class::Mark {
                    at += 1;
                }
                if class_at(at) == Class::Pair {
                    of_word.push(letters[at].c);
                    end = letters[at].end;
                }
            }
            Class::Letter => {
                while matches!(class_at(at), Class::Letter | Class::Mark) {
                    if class_at(at) == Class::Letter {
                        of_word.push(letters[at].c);
                    }
                    end = letters[at].end;
                    at += 1;
                }
            }
        }
        let (mut folded, mut written) = (String::new(), String::new());
        for c in of_word {
            fold_any(c, &mut folded);
            lower_any(c, &mut written);
        }
        let has_forms = class_at(first) == Class::Letter && written != folded;
        found.push(ModelWord {
            folded,
            written: Some(written).filter(|_| has_forms),
            range: letters[first].start..end,
            first_end: letters[first].end,
        });
    }
    found
}

/// Returns real texts in pieces: files of the shared data, including markup. Without shared data,
/// prints a line and returns no texts.
pub(crate) fn real_texts() -> Vec<String> {
    let mut texts = Vec::new();
    let Some(data) = test_env::shared_data() else {
        return texts;
    };
    for folder in ["commoncrawl", "crawls", "regress", "ir"] {
        for entry in std::fs::read_dir(data.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_file() {
                continue;
            }
            let mut bytes = std::fs::read(&path).unwrap();
            if path.extension().is_some_and(|extension| extension == "gz") {
                let mut inflated = Vec::new();
                // If gzip data is damaged, use what precedes the damage.
                let _ = flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut inflated);
                bytes = inflated;
            }
            // A part of each file is enough: the model is slow.
            let bytes = &bytes[..bytes.len().min(200_000)];
            texts.extend(
                bytes
                    .chunks(20_000)
                    .map(|piece| String::from_utf8_lossy(piece).into_owned()),
            );
        }
    }
    assert!(!texts.is_empty(), "no texts found in {}", data.display());
    texts
}

//! Steps of normalisation.

use std::borrow::Cow;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

use super::category::{is_control, is_ideograph, is_nonspacing_mark};
use super::charsmap::Charsmap;
use super::json::{NormalizerJson, PatternJson};

const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();
const NFKC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfkc();
const NFD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfd();
const NFKD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfkd();

/// Maximum size of a text that a step inserts.
const INSERTED_BYTES_MAX: usize = 64;

/// The regular expression that XLM-RoBERTa's files have.
const SPACES: &str = " {2,}";

/// A step of normalisation.
pub(super) enum Normalizer {
    Charsmap(Box<Charsmap>),
    /// Removes control characters, and replaces white space by spaces.
    CleanText,
    /// Replaces several spaces.
    CollapseSpaces(String),
    Lowercase,
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
    /// Puts spaces around ideographs.
    SpaceIdeographs,
    /// Puts a text before a text that is not empty.
    Prepend(String),
    Replace {
        text: String,
        by: String,
    },
    StripAccents,
    Trim {
        start: bool,
        end: bool,
    },
}

impl Normalizer {
    /// Returns the steps of a file.
    pub(super) fn all(json: Option<NormalizerJson>) -> Result<Vec<Normalizer>, String> {
        let Some(json) = json else {
            return Ok(Vec::new());
        };
        Ok(match json {
            NormalizerJson::Sequence { normalizers } => {
                let steps: Result<Vec<_>, _> = normalizers
                    .into_iter()
                    .map(|json| Normalizer::all(Some(json)))
                    .collect();
                steps?.into_iter().flatten().collect()
            }
            NormalizerJson::BertNormalizer {
                clean_text,
                handle_chinese_chars,
                strip_accents,
                lowercase,
            } => {
                let strips_accents = strip_accents.unwrap_or(lowercase);
                let mut steps = Vec::new();
                steps.extend(clean_text.then_some(Normalizer::CleanText));
                steps.extend(handle_chinese_chars.then_some(Normalizer::SpaceIdeographs));
                steps.extend(strips_accents.then_some(Normalizer::Nfd));
                steps.extend(strips_accents.then_some(Normalizer::StripAccents));
                steps.extend(lowercase.then_some(Normalizer::Lowercase));
                steps
            }
            NormalizerJson::Precompiled { precompiled_charsmap } => match precompiled_charsmap {
                Some(base64) => vec![Normalizer::Charsmap(Box::new(Charsmap::read(&base64)?))],
                None => Vec::new(),
            },
            other => vec![Normalizer::of_text(other)?],
        })
    }

    fn of_text(json: NormalizerJson) -> Result<Normalizer, String> {
        Ok(match json {
            NormalizerJson::Prepend { prepend } => Normalizer::Prepend(inserted(prepend)?),
            NormalizerJson::Replace { pattern, content } => {
                let by = inserted(content)?;
                match pattern {
                    PatternJson::String(text) if !text.is_empty() => Normalizer::Replace { text, by },
                    PatternJson::Regex(pattern) if pattern == SPACES => Normalizer::CollapseSpaces(by),
                    PatternJson::String(pattern) | PatternJson::Regex(pattern) => {
                        return Err(format!("the pattern {pattern:?} is not supported"));
                    }
                }
            }
            NormalizerJson::Strip {
                strip_left,
                strip_right,
            } => Normalizer::Trim {
                start: strip_left,
                end: strip_right,
            },
            NormalizerJson::Lowercase => Normalizer::Lowercase,
            NormalizerJson::StripAccents => Normalizer::StripAccents,
            NormalizerJson::Nfc => Normalizer::Nfc,
            NormalizerJson::Nfd => Normalizer::Nfd,
            NormalizerJson::Nfkc => Normalizer::Nfkc,
            NormalizerJson::Nfkd => Normalizer::Nfkd,
            NormalizerJson::Sequence { .. }
            | NormalizerJson::BertNormalizer { .. }
            | NormalizerJson::Precompiled { .. } => return Err("steps within steps".to_owned()),
        })
    }

    pub(super) fn apply<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        match self {
            Normalizer::Charsmap(charsmap) => Cow::Owned(charsmap.apply(&text)),
            Normalizer::CleanText => {
                let kept = text
                    .chars()
                    .filter(|c| *c != '\u{fffd}' && !is_control(*c))
                    .map(|c| if c.is_whitespace() { ' ' } else { c });
                Cow::Owned(kept.collect())
            }
            Normalizer::CollapseSpaces(by) => Cow::Owned(collapsed(&text, by)),
            Normalizer::Lowercase => lowercase(text),
            Normalizer::Nfc => unicode(text, |text| NFC.normalize(text)),
            Normalizer::Nfd => unicode(text, |text| NFD.normalize(text)),
            Normalizer::Nfkc => unicode(text, |text| NFKC.normalize(text)),
            Normalizer::Nfkd => unicode(text, |text| NFKD.normalize(text)),
            Normalizer::SpaceIdeographs => {
                if text.is_ascii() {
                    return text;
                }
                let mut spaced = String::with_capacity(text.len() * 2);
                for c in text.chars() {
                    if is_ideograph(c) {
                        spaced.extend([' ', c, ' ']);
                    } else {
                        spaced.push(c);
                    }
                }
                Cow::Owned(spaced)
            }
            Normalizer::Prepend(prefix) if !text.is_empty() => Cow::Owned(format!("{prefix}{text}")),
            Normalizer::Prepend(_) => text,
            Normalizer::Replace { text: from, by } => Cow::Owned(match from.as_bytes() {
                // Faster than searching for a text.
                [byte] => text.replace(char::from(*byte), by),
                _ => text.replace(from, by),
            }),
            Normalizer::StripAccents => {
                if text.is_ascii() {
                    return text;
                }
                Cow::Owned(text.chars().filter(|c| !is_nonspacing_mark(*c)).collect())
            }
            Normalizer::Trim { start, end } => {
                let from = if *start { text.trim_start() } else { &text };
                let trimmed = if *end { from.trim_end() } else { from };
                Cow::Owned(trimmed.to_owned())
            }
        }
    }
}

fn inserted(text: String) -> Result<String, String> {
    if text.len() > INSERTED_BYTES_MAX {
        return Err("it inserts a text of more than 64 bytes".to_owned());
    }
    Ok(text)
}

/// Replaces two or more spaces.
fn collapsed(text: &str, by: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(index) = rest.find("  ") {
        collapsed.push_str(&rest[..index]);
        collapsed.push_str(by);
        rest = rest[index..].trim_start_matches(' ');
    }
    collapsed.push_str(rest);
    collapsed
}

/// Returns a text in lower case, each character by itself.
fn lowercase(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.is_ascii() {
        let mut text = text.into_owned();
        text.make_ascii_lowercase();
        return Cow::Owned(text);
    }
    Cow::Owned(text.chars().flat_map(char::to_lowercase).collect())
}

/// Applies a normal form of Unicode. It does not change ASCII.
fn unicode<'t>(text: Cow<'t, str>, form: impl Fn(&str) -> Cow<'_, str>) -> Cow<'t, str> {
    if text.is_ascii() {
        return text;
    }
    Cow::Owned(form(&text).into_owned())
}

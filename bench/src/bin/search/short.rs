//! The published test's second workload: records of 50 characters, here as the text of pages (WET).

use std::path::Path;

use anyhow::Context;
use warc::{Compression, Draft, Writer};

use crate::dice::Dice;

/// Characters of a record.
const CHARS: usize = 50;

/// Number of different words in records. The frequency of the word of rank n is about 1 / n, as in
/// a language (Zipf).
const WORDS: f64 = 50_000.0;

/// Records per host.
const RECORDS_OF_HOST: u64 = 100;

/// 2024-01-01; each further record is a second later.
const BEGIN_MS: i64 = 1_704_067_200_000;

/// Syllables that encode the number of a word.
const SYLLABLES: [&str; 16] = [
    "ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "za",
];

/// Writes this many records to a file.
pub(crate) fn write(path: &Path, records: u64, seed: u64) -> anyhow::Result<()> {
    let mut dice = Dice::new(seed);
    let failed = || format!("write {}", path.display());
    let mut writer = Writer::create(path, Compression::Plain).with_context(failed)?;
    for number in 0..records {
        let url = format!(
            "http://host{}.example/{}",
            number / RECORDS_OF_HOST,
            number % RECORDS_OF_HOST
        );
        let date_ms = BEGIN_MS + number as i64 * 1000;
        let draft = Draft::conversion(&url, date_ms, "text/plain", text(&mut dice).into_bytes());
        writer.write(&draft.without_digests()).with_context(failed)?;
    }
    writer.finish().with_context(failed)?;
    Ok(())
}

fn text(dice: &mut Dice) -> String {
    let mut text = String::with_capacity(CHARS + 16);
    while text.len() < CHARS {
        if !text.is_empty() {
            text.push(' ');
        }
        // Evenly distributed between the logarithms of the first and the last rank.
        let share = dice.below(1 << 30) as f64 / f64::from(1 << 30);
        let mut rank = WORDS.powf(share) as usize;
        while rank > 0 {
            text.push_str(SYLLABLES[rank % SYLLABLES.len()]);
            rank /= SYLLABLES.len();
        }
    }
    text.truncate(CHARS);
    text
}

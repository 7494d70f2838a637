use proptest::prelude::*;

use super::*;
use crate::query::parse;
use crate::words::StemMemo;

#[track_caller]
fn check(query: &str, text: &str, words: usize, expected: &[&str]) {
    assert_eq!(lines_of(query, text, 10, words), expected);
}

/// Returns the lines of an English text, with bars around the match.
fn lines_of(query: &str, text: &str, most: usize, words: usize) -> Vec<String> {
    let parsed = parse(query);
    let mut memo = StemMemo::new(64);
    let lines = Snippets::new(&parsed, &mut memo).lines(text, "en", most, words);
    lines
        .iter()
        .map(|line| format!("{}|{}|{}", line.left, line.matched, line.right))
        .collect()
}

#[test]
fn each_match_has_the_words_around_it() {
    let text = "The root zone is small. A zone file, and the Zones of the root.";
    check(
        "zone",
        text,
        2,
        &[
            "The root |zone| is small.",
            "small. A |zone| file, and",
            "and the |Zones| of the",
        ],
    );
    check("\"root zone\"", text, 1, &["The |root zone| is"]);
    check("\"zones\"", text, 1, &["the |Zones| of"]);
    check("zon*", "zoned", 3, &["|zoned|"]);
    check("site:x.org", text, 3, &[]);
    check("zone", "", 3, &[]);
    // Characters that change the writing direction are removed.
    check(
        "zone",
        "(a zone)\u{202e} zone",
        1,
        &["a |zone|) zone", "zone) |zone|"],
    );
}

#[test]
fn without_blanks_characters_are_words() {
    check("東京", "私は東京都に住む", 1, &["は|東京|都に"]);
}

#[test]
fn long_words_cost_no_more_than_short_ones() {
    let text = format!("{} zone {}", "x".repeat(60_000), "y".repeat(60_000));
    let lines = lines_of("zone", &text, 1, 50);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].len() < 10_000, "{}", lines[0].len());
}

proptest! {
    /// For words separated by blanks, counting words gives the expected lines.
    #[test]
    fn lines_are_what_counting_words_gives(
        words in prop::collection::vec("zone|root|name|of", 0..40),
        most in 1..9_usize,
        around in 1..6_usize,
    ) {
        let text = words.join(" ");
        let places = (0..words.len()).filter(|&place| words[place] == "zone");
        let mut expected: Vec<String> = Vec::new();
        for place in places.take(most) {
            let left = words[place.saturating_sub(around)..place].join(" ");
            let right = words[place + 1..words.len().min(place + 1 + around)].join(" ");
            let blank = |side: &str| if side.is_empty() { "" } else { " " };
            expected.push(format!("{left}{}|zone|{}{right}", blank(&left), blank(&right)));
        }
        prop_assert_eq!(lines_of("\"zone\"", &text, most, around), expected);
    }

    #[test]
    fn any_text_has_lines(query in ".{0,20}", text in ".{0,300}", around in 0..60_usize) {
        prop_assert!(lines_of(&query, &text, 5, around).len() <= 5);
    }
}

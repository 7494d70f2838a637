//! Converts letters to lower case and removes diacritics.
//!
//! Letters are in NFKC (`letters`), so compatibility forms (ligatures, full width) have been
//! replaced, and a letter with its marks is one character if Unicode has one.

use std::sync::OnceLock;

use super::script::is_mark;

/// Maximum length of a word in bytes. Longer words are truncated, in the index and in queries.
pub(super) const WORD_BYTES_MAX: usize = 100;

/// Appends a letter in lower case and without diacritics.
pub(super) fn fold(c: char, word: &mut String) {
    match known(c) {
        Some(LetterForms {
            plain: Some(plain), ..
        }) => push(word, *plain),
        _ => fold_any(c, word),
    }
}

/// Like [`fold`], by Unicode's tables.
pub(super) fn fold_any(c: char, word: &mut String) {
    for lower in c.to_lowercase() {
        match lower {
            'ß' => push_all(word, "ss"),
            'æ' | 'ǽ' | 'ǣ' => push_all(word, "ae"),
            'œ' => push_all(word, "oe"),
            'þ' => push_all(word, "th"),
            // Lower case can add marks: `İ` becomes `i` and a dot above.
            _ if is_mark(lower) => {}
            _ => push(word, plain(lower)),
        }
    }
}

/// Appends a letter in lower case, with its diacritics.
pub(super) fn lower(c: char, word: &mut String) {
    match known(c) {
        Some(LetterForms {
            lower: Some(lower), ..
        }) => push(word, *lower),
        _ => lower_any(c, word),
    }
}

/// Like [`lower`], by Unicode's tables.
pub(super) fn lower_any(c: char, word: &mut String) {
    for lower in c.to_lowercase() {
        match lower {
            // Both are the same letter. The form depends only on the position in the word, and
            // capitals do not distinguish it.
            'ς' => push(word, 'σ'),
            _ if is_mark(lower) => {}
            _ => push(word, lower),
        }
    }
}

/// Appends ASCII letters and digits in lower case, as far as the word has room.
pub(super) fn fold_ascii(letters: &str, word: &mut String) {
    let start = word.len();
    let room = WORD_BYTES_MAX.saturating_sub(start);
    word.push_str(&letters[..letters.len().min(room)]);
    word[start..].make_ascii_lowercase();
}

/// Appends a character, unless the word has its maximum length.
pub(super) fn push(word: &mut String, c: char) {
    if word.len() + c.len_utf8() <= WORD_BYTES_MAX {
        word.push(c);
    }
}

fn push_all(word: &mut String, text: &str) {
    text.chars().for_each(|c| push(word, c));
}

/// Base letters and the forms that fold to them; lower case only, because folding comes after.
const FOLDS: &[(char, &str)] = &[
    ('a', "àáâãäåāăąǎǟǡǻȁȃȧḁẚạảấầẩẫậắằẳẵặª"),
    ('b', "ƀɓḃḅḇ"),
    ('c', "çćĉċčƈȼḉ"),
    ('d', "ðďđɖɗḋḍḏḑḓ"),
    ('e', "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệǝ"),
    ('f', "ƒḟ"),
    ('g', "ĝğġģǥǧǵɠḡ"),
    ('h', "ĥħȟḣḥḧḩḫẖ"),
    ('i', "ìíîïĩīĭįıǐȉȋɨḭḯỉị"),
    ('j', "ĵǰɉ"),
    ('k', "ķƙǩḱḳḵĸ"),
    ('l', "ĺļľŀłƚḷḹḻḽ"),
    ('m', "ḿṁṃ"),
    ('n', "ñńņňŉŋɲǹṅṇṉṋ"),
    ('o', "òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợº"),
    ('p', "ƥṕṗ"),
    ('q', "ɋ"),
    ('r', "ŕŗřȑȓɍṙṛṝṟ"),
    ('s', "śŝşšșſṡṣṥṧṩẛ"),
    ('t', "ţťŧƭțṫṭṯṱẗ"),
    ('u', "ùúûüũūŭůűųưǔǖǘǚǜȕȗʉṳṵṷṹṻụủứừửữự"),
    ('v', "ṽṿ"),
    ('w', "ŵẁẃẅẇẉẘ"),
    ('x', "ẋẍ"),
    ('y', "ýÿŷƴȳɏẏẙỳỵỷỹ"),
    ('z', "źżžƶȥẑẓẕ"),
    ('α', "άἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ"),
    ('ε', "έἐἑἒἓἔἕὲέ"),
    ('η', "ήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ"),
    ('ι', "ίϊΐἰἱἲἳἴἵἶἷὶίῐῑῒΐῖῗ"),
    ('ο', "όὀὁὂὃὄὅὸό"),
    ('ρ', "ῤῥ"),
    ('σ', "ς"),
    ('υ', "ύϋΰὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ"),
    ('ω', "ώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ"),
    ('е', "ёѐ"),
    ('и', "ѝ"),
    ('ا', "آأإٱ"),
    ('ي', "ى"),
];

/// First character beyond the table of folds.
const FOLD_END: usize = 0x2000;

/// Both forms of a letter.
#[derive(Default)]
struct LetterForms {
    /// Without diacritics; absent if that is not one character.
    plain: Option<char>,
    /// With diacritics; absent if that is not one character.
    lower: Option<char>,
}

/// Returns the cached forms of a letter of most alphabets. Unicode's own tables are slower, and
/// each letter of such texts is looked up twice.
fn known(c: char) -> Option<&'static LetterForms> {
    static TABLE: OnceLock<Vec<LetterForms>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let chars = (0..FOLD_END as u32).map(char::from_u32);
        chars
            .map(|c| {
                c.map_or_else(LetterForms::default, |c| LetterForms {
                    plain: single(c, fold_any),
                    lower: single(c, lower_any),
                })
            })
            .collect()
    });
    table.get(c as usize)
}

/// Returns the output for a character, if it is one character.
fn single(c: char, add: impl Fn(char, &mut String)) -> Option<char> {
    let mut added = String::new();
    add(c, &mut added);
    let mut chars = added.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn plain(c: char) -> char {
    static TABLE: OnceLock<Vec<char>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: Vec<char> = (0..FOLD_END as u32)
            .map(|code| char::from_u32(code).unwrap_or('\0'))
            .collect();
        for (base, forms) in FOLDS {
            for form in forms.chars() {
                table[form as usize] = *base;
            }
        }
        table
    });
    table.get(c as usize).copied().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_by_table_are_those_of_unicode() {
        let made = |add: fn(char, &mut String), c| {
            let mut word = String::new();
            add(c, &mut word);
            word
        };
        for c in '\0'..=char::MAX {
            assert_eq!(made(fold, c), made(fold_any, c), "{c:?}");
            assert_eq!(made(lower, c), made(lower_any, c), "{c:?}");
        }
    }
}

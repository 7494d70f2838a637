//! Patterns with `*` for any text and `?` for any one character.

/// Whether a text fits a pattern.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to go on when what follows the last star does not fit: the star, and the text it takes one more of.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(one) if *one == '?' || *one == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    t = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, word for word.
    fn model(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|taken| model(rest, &text[taken..])),
            Some((one, rest)) => text
                .split_first()
                .is_some_and(|(first, after)| (*one == '?' || one == first) && model(rest, after)),
        }
    }

    proptest! {
        #[test]
        fn fits_as_the_model_says(pattern in "[ab*?/]{0,8}", text in "[ab/]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(fits(&pattern, &text), model(&chars(&pattern), &chars(&text)));
        }
    }
}

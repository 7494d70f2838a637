//! Patterns with wildcards.

/// Reports whether a text matches a policy pattern: `*` matches any text and `?` any one character.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    walk(pattern, text, Some('?'))
}

/// Reports whether a text matches a pattern of the keys file: `*` matches any text. `?` is literal
/// here and occurs in no bucket name, so a keys file never grants more than when it was written.
pub(crate) fn fits_stars(pattern: &str, text: &str) -> bool {
    walk(pattern, text, None)
}

fn walk(pattern: &str, text: &str, any_one: Option<char>) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to resume if the text after the last star does not match: the position of the star, and
    // the end of the text that the star matches.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(one) if Some(*one) == any_one || *one == text[t] => {
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

    /// The definition of the patterns, written as a recursive function.
    fn model(pattern: &[char], text: &[char], any_one: Option<char>) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|taken| model(rest, &text[taken..], any_one)),
            Some((one, rest)) => text.split_first().is_some_and(|(first, after)| {
                (Some(*one) == any_one || one == first) && model(rest, after, any_one)
            }),
        }
    }

    proptest! {
        #[test]
        fn fits_as_the_model_says(pattern in "[ab*?/]{0,8}", text in "[ab?/]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let model = |any_one| model(&chars(&pattern), &chars(&text), any_one);
            prop_assert_eq!(fits(&pattern, &text), model(Some('?')));
            prop_assert_eq!(fits_stars(&pattern, &text), model(None));
        }
    }
}

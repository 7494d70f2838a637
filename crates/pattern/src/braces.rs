//! Expands alternatives in braces.

/// The error for a pattern whose braces expand to too many alternatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyAlternatives;

impl TooManyAlternatives {
    /// Maximum number of alternatives of a pattern. Each is compared with every name.
    pub const MAX: usize = 1000;
}

impl std::fmt::Display for TooManyAlternatives {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the braces expand to more than {} alternatives", Self::MAX)
    }
}

impl std::error::Error for TooManyAlternatives {}

/// Returns the patterns without braces that a pattern expands to, in order. As in the shell, braces
/// without a comma are literal.
pub(super) fn alternatives(text: &[u8]) -> Result<Vec<Vec<u8>>, TooManyAlternatives> {
    let mut done = Vec::new();
    // In each text, the bytes before `from` have no braces left.
    let mut open = vec![(text.to_vec(), 0)];
    while let Some((text, from)) = open.pop() {
        let Some(braces) = Braces::find(&text, from) else {
            done.push(text);
            continue;
        };
        if done.len() + open.len() + braces.parts.len() > TooManyAlternatives::MAX {
            return Err(TooManyAlternatives);
        }
        for part in braces.parts.iter().rev() {
            let mut one = text[..braces.start].to_vec();
            one.extend_from_slice(&text[part.clone()]);
            one.extend_from_slice(&text[braces.end..]);
            // A part may contain braces.
            open.push((one, braces.start));
        }
    }
    Ok(done)
}

/// A pair of braces with a comma.
struct Braces {
    /// Position of the opening brace.
    start: usize,
    /// Position after the closing brace.
    end: usize,
    parts: Vec<std::ops::Range<usize>>,
}

impl Braces {
    /// Returns the first pair at or after `from`.
    fn find(text: &[u8], from: usize) -> Option<Self> {
        let mut at = from;
        while at < text.len() {
            match text[at] {
                b'\\' => at += 2,
                b'{' => match Self::at(text, at) {
                    Some(braces) => return Some(braces),
                    None => at += 1,
                },
                _ => at += 1,
            }
        }
        None
    }

    /// Returns the pair that begins at `start`; `None` if it is not closed or has no comma.
    fn at(text: &[u8], start: usize) -> Option<Self> {
        let mut parts = Vec::new();
        let (mut depth, mut part, mut at) = (0, start + 1, start + 1);
        while at < text.len() {
            match text[at] {
                b'\\' => at += 1,
                b'{' => depth += 1,
                b',' if depth == 0 => {
                    parts.push(part..at);
                    part = at + 1;
                }
                b'}' if depth == 0 => {
                    parts.push(part..at);
                    return (parts.len() > 1).then_some(Self {
                        start,
                        end: at + 1,
                        parts,
                    });
                }
                b'}' => depth -= 1,
                _ => {}
            }
            at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_alternatives() {
        let of = |text: &str| -> Vec<String> {
            let all = alternatives(text.as_bytes()).unwrap().into_iter();
            all.map(|text| String::from_utf8(text).unwrap()).collect()
        };
        assert_eq!(of("a"), ["a"]);
        assert_eq!(of("{a,b}.gz"), ["a.gz", "b.gz"]);
        assert_eq!(of("{a,{b,c}d}{,e}"), ["a", "ae", "bd", "bde", "cd", "cde"]);
        for same in ["{a}", "{a", "a}", "\\{a,b}", "{}", "{a\\,b}"] {
            assert_eq!(of(same), [same]);
        }
        assert_eq!(of("{{a,b}"), ["{a", "{b"]);
        assert_eq!(
            alternatives("{a,b}".repeat(10).as_bytes()),
            Err(TooManyAlternatives)
        );
        assert_eq!(
            alternatives("{a,b}".repeat(9).as_bytes()).map(|all| all.len()),
            Ok(512)
        );
    }
}

//! The last steps for a query, done in place at the end of a key: session ids are removed and
//! arguments sorted.

use crate::session;

/// Number of arguments that are sorted without allocating.
const ARGUMENTS_INLINE: usize = 24;

/// Finishes the query in `out[start..]`, the text after its `?`, which must be lower case and
/// escaped. If the result is empty, the `?` is removed as well.
pub(crate) fn finish(out: &mut Vec<u8>, start: usize) {
    session::strip_from_query(out, start, &mut |_| ());
    if out.len() == start {
        out.pop();
    } else {
        sort(out, start);
    }
}

/// Sorts the arguments by name, then value. An argument without `=` comes before one with an empty
/// value.
fn sort(out: &mut Vec<u8>, start: usize) {
    if is_sorted(&out[start..]) {
        return;
    }
    let text_len = out.len() - start;
    let count = out[start..].split(|&b| b == b'&').count();
    if count <= ARGUMENTS_INLINE {
        let mut places = [(0, 0); ARGUMENTS_INLINE];
        sort_places(out, start, &mut places[..count]);
    } else {
        sort_places(out, start, &mut vec![(0, 0); count]);
    }
    // The sorted arguments follow the unsorted ones: move them to the front.
    out.copy_within(start + text_len.., start);
    out.truncate(start + text_len);
}

/// Appends the arguments of `out[start..]` to `out` in order. `places` must have one slot for each
/// argument.
fn sort_places(out: &mut Vec<u8>, start: usize, places: &mut [(usize, usize)]) {
    let mut at = start;
    for (place, argument) in places.iter_mut().zip(out[start..].split(|&b| b == b'&')) {
        *place = (at, at + argument.len());
        at += argument.len() + 1;
    }
    places.sort_unstable_by(|a, b| order(&out[a.0..a.1]).cmp(&order(&out[b.0..b.1])));
    for (i, place) in places.iter().enumerate() {
        if i > 0 {
            out.push(b'&');
        }
        out.extend_from_within(place.0..place.1);
    }
}

fn is_sorted(query: &[u8]) -> bool {
    query
        .split(|&b| b == b'&')
        .is_sorted_by(|a, b| order(a) <= order(b))
}

/// Returns the sort key of an argument: its name, and its value if it has one.
pub(crate) fn order(argument: &[u8]) -> (&[u8], Option<&[u8]>) {
    match argument.iter().position(|&b| b == b'=') {
        Some(at) => (&argument[..at], Some(&argument[at + 1..])),
        None => (argument, None),
    }
}

//! Sorts the lines of an index that are almost in order.
//!
//! Captures come in order, but a revisit adds the record that it repeats from anywhere. Invariant:
//! the lines of the file are in order, and the few that came too late are in memory.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek, Write};
use std::iter::Peekable;
use std::vec::IntoIter;

use super::zipnum::place_of;

/// Collects lines of CDXJ, and returns them sorted by key and time.
pub(super) struct SortedLines {
    file: BufWriter<File>,
    /// Key and time of the last line of the file.
    last: String,
    late: Vec<String>,
}

impl SortedLines {
    /// `file` must be empty.
    pub(super) fn new(file: BufWriter<File>) -> SortedLines {
        SortedLines {
            file,
            last: String::new(),
            late: Vec::new(),
        }
    }

    /// Adds a line with its end.
    pub(super) fn push(&mut self, line: String) -> io::Result<()> {
        let place = place_of(&line);
        if place < &*self.last {
            self.late.push(line);
            return Ok(());
        }
        place.clone_into(&mut self.last);
        self.file.write_all(line.as_bytes())
    }

    /// Calls `each` for all lines in order.
    pub(super) fn finish(mut self, each: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        self.late.sort_by(|a, b| place_of(a).cmp(place_of(b)));
        let mut late = self.late.into_iter().peekable();
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let mut file = BufReader::new(file);
        let mut line = String::new();
        while file.read_line(&mut line)? > 0 {
            give_before(&mut late, Some(place_of(&line)), each)?;
            each(&line)?;
            line.clear();
        }
        give_before(&mut late, None, each)
    }
}

/// Calls `each` for the late lines before a place, or for all if it is `None`.
fn give_before(
    late: &mut Peekable<IntoIter<String>>,
    place: Option<&str>,
    each: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    while let Some(line) = late.next_if(|line| place.is_none_or(|place| place_of(line) < place)) {
        each(&line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(order: &[u32]) {
        let line = |number: &u32| format!("com,example)/{number:03} 20140126200624 {{\"n\": {number}}}\n");
        let mut lines = SortedLines::new(BufWriter::new(tempfile::tempfile().unwrap()));
        for number in order {
            lines.push(line(number)).unwrap();
        }
        let mut found = Vec::new();
        lines
            .finish(&mut |line| {
                found.push(line.to_owned());
                Ok(())
            })
            .unwrap();
        let mut expected: Vec<String> = order.iter().map(line).collect();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn lines_are_given_in_order_whenever_they_came() {
        for order in [
            &[][..],
            &[1, 2, 3],
            &[3, 2, 1],
            &[5, 1, 6, 2, 9, 9, 3, 10, 4],
            &[7, 7, 1, 8, 1],
        ] {
            check(order);
        }
    }
}

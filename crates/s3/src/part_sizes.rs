//! The sizes of an object's uploaded parts, so that clients can read a part by its number.
//!
//! Stored as an attribute with runs of equal sizes: `5242880*19,1234` is 20 parts.

use std::ops::Range;

use s3s::S3Result;

use crate::error::fault;

/// Encodes sizes in bytes, in the order of the parts.
pub(crate) fn encode(sizes: &[u64]) -> String {
    let runs = sizes.chunk_by(|a, b| a == b).map(|run| match run {
        [size] => size.to_string(),
        _ => format!("{}*{}", run[0], run.len()),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// Decodes the result of [`encode`]: at most 10,000 sizes, S3's limit of parts.
pub(crate) fn decode(text: &str) -> S3Result<Vec<u64>> {
    let wrong = || fault("InternalError", format!("invalid stored part sizes {text:?}"));
    let mut sizes = Vec::new();
    for run in text.split(',') {
        let (size, count) = run.split_once('*').unwrap_or((run, "1"));
        let size: u64 = size.parse().map_err(|_| wrong())?;
        let count: usize = count.parse().map_err(|_| wrong())?;
        if sizes.len() + count > 10_000 {
            return Err(wrong());
        }
        sizes.resize(sizes.len() + count, size);
    }
    Ok(sizes)
}

/// Returns the byte range of part `number` (from 1), and the number of parts.
pub(crate) fn range(text: &str, number: i32) -> S3Result<(Range<u64>, usize)> {
    let sizes = decode(text)?;
    let index = usize::try_from(number)
        .ok()
        .and_then(|number| number.checked_sub(1));
    let Some((index, size)) = index.and_then(|index| Some((index, *sizes.get(index)?))) else {
        let detail = format!("there is no part {number}, the object has {}", sizes.len());
        return Err(fault("InvalidPart", detail));
    };
    let start: u64 = sizes[..index].iter().sum();
    Ok((start..start + size, sizes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for sizes in [vec![7], vec![5, 5, 5, 1], vec![1, 5, 5, 2, 2], vec![9; 10_000]] {
            assert_eq!(decode(&encode(&sizes)).unwrap(), sizes);
        }
        assert_eq!(encode(&[5, 5, 5, 1]), "5*3,1");
        assert_eq!(range("5*3,1", 3).unwrap(), (10..15, 4));
        assert_eq!(range("5*3,1", 4).unwrap(), (15..16, 4));
        for (text, number) in [
            ("5*3,1", 0),
            ("5*3,1", 5),
            ("5*3,1", -1),
            ("x", 1),
            ("1*10001", 1),
            ("", 1),
        ] {
            assert!(range(text, number).is_err(), "{text} {number}");
        }
    }
}

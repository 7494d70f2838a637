//! Variable-length integers, and a reader of rows that may be damaged.

/// A row of the catalogue that is not in the expected format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is truncated or malformed")]
pub struct Corrupt {
    /// The kind of row that was being read.
    pub what: &'static str,
}

/// Appends a number, seven bits per byte, lowest bits first.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number (zigzag): small values of both signs are short.
pub(crate) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends a length followed by the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads the output of the functions above.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Reader<'a> {
        Reader { bytes, what }
    }

    pub(crate) fn corrupt(&self) -> Corrupt {
        Corrupt { what: self.what }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn number(&mut self) -> Result<u64, Corrupt> {
        let mut number = 0u64;
        for (index, &byte) in self.bytes.iter().enumerate().take(10) {
            number |= u64::from(byte & 0x7f).checked_shl(7 * index as u32).unwrap_or(0);
            if byte < 0x80 {
                self.bytes = &self.bytes[index + 1..];
                return Ok(number);
            }
        }
        Err(self.corrupt())
    }

    /// Reads a number that must fit into `T`.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Corrupt> {
        T::try_from(self.number()?).map_err(|_| self.corrupt())
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Corrupt> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Returns the next byte without consuming it.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.first().copied()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Corrupt> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Corrupt> {
        if length > self.bytes.len() {
            return Err(self.corrupt());
        }
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Corrupt> {
        let length = self.small()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_put_is_read(numbers: Vec<(u64, i64)>, bytes: Vec<u8>) {
            let mut out = Vec::new();
            for &(number, signed) in &numbers {
                put(&mut out, number);
                put_signed(&mut out, signed);
            }
            put_bytes(&mut out, &bytes);
            let mut reader = Reader::new(&out, "row");
            for &(number, signed) in &numbers {
                prop_assert_eq!(reader.number().unwrap(), number);
                prop_assert_eq!(reader.signed().unwrap(), signed);
            }
            prop_assert_eq!(reader.bytes().unwrap(), &bytes[..]);
            prop_assert!(reader.is_at_end());
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes, "row");
            while !reader.is_at_end() && reader.number().is_ok() && reader.bytes().is_ok() {}
        }
    }
}

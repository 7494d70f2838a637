//! Encoding of rows: variable-length integers, strings, front-coded keys.
//!
//! Every decoder returns [`Corrupt`] for invalid bytes and never panics.

/// A row that cannot be decoded, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Corrupt(pub(crate) &'static str);

/// Appends `value` in groups of 7 bits, lowest first, with the high bit set on all but the last (1
/// to 10 bytes).
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed integer in zigzag encoding: small magnitudes are short.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends the length and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Returns a byte of the flags that are set.
pub(crate) fn flags(flags: &[(u8, bool)]) -> u8 {
    let set = flags.iter().filter(|(_, is_set)| *is_set);
    set.fold(0, |all, (flag, _)| all | flag)
}

/// Appends `key` as the length shared with `previous`, the length of the rest, and the rest.
pub(crate) fn put_front_coded(out: &mut Vec<u8>, previous: &[u8], key: &[u8]) {
    let shared = common_prefix(previous, key);
    put_varint(out, shared as u64);
    put_bytes(out, &key[shared..]);
}

/// Returns the length of the longest common prefix.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Reads the encoding of the functions above, front to back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    /// Starts reading a row whose first byte is its version.
    pub(crate) fn versioned(bytes: &'a [u8], version: u8) -> Result<Reader<'a>, Corrupt> {
        let mut reader = Reader::new(bytes);
        match reader.u8()? {
            v if v == version => Ok(reader),
            _ => Err(Corrupt("unknown row version")),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Corrupt> {
        let (&first, rest) = self.bytes.split_first().ok_or(Corrupt("truncated row"))?;
        self.bytes = rest;
        Ok(first)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, Corrupt> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Corrupt("integer is too long"))
    }

    pub(crate) fn varint_u32(&mut self) -> Result<u32, Corrupt> {
        u32::try_from(self.varint()?).map_err(|_| Corrupt("integer is too large"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Corrupt> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Corrupt> {
        if length > self.bytes.len() {
            return Err(Corrupt("truncated row"));
        }
        let (head, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        Ok(head)
    }

    /// Returns the remaining bytes.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Corrupt> {
        let length = self.varint()?;
        self.take(usize::try_from(length).map_err(|_| Corrupt("length is too large"))?)
    }

    pub(crate) fn str(&mut self) -> Result<&'a str, Corrupt> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Corrupt("text is not UTF-8"))
    }

    /// Replaces `key`, the previous key, with the next front-coded one.
    pub(crate) fn front_coded(&mut self, key: &mut Vec<u8>) -> Result<(), Corrupt> {
        let shared = usize::try_from(self.varint()?).map_err(|_| Corrupt("length is too large"))?;
        if shared > key.len() {
            return Err(Corrupt("shared prefix is longer than the previous key"));
        }
        key.truncate(shared);
        key.extend_from_slice(self.bytes()?);
        Ok(())
    }
}

/// Returns `bytes` as text if they are UTF-8.
pub(crate) fn to_text(bytes: &[u8]) -> Result<String, Corrupt> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Corrupt("text is not UTF-8"))
}

/// Encodes a signed integer as big-endian bytes that sort like the integer.
pub(crate) fn sortable(value: i64) -> [u8; 8] {
    ((value as u64) ^ (1 << 63)).to_be_bytes()
}

/// Inverse of [`sortable`].
pub(crate) fn from_sortable(bytes: [u8; 8]) -> i64 {
    (u64::from_be_bytes(bytes) ^ (1 << 63)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(a: u64, b: i64, s: String, keys: Vec<Vec<u8>>) {
            let mut out = vec![7];
            put_varint(&mut out, a);
            put_signed(&mut out, b);
            put_bytes(&mut out, s.as_bytes());
            let mut previous: &[u8] = b"";
            for key in &keys {
                put_front_coded(&mut out, previous, key);
                previous = key;
            }
            let mut reader = Reader::versioned(&out, 7).unwrap();
            prop_assert_eq!(reader.varint().unwrap(), a);
            prop_assert_eq!(reader.signed().unwrap(), b);
            prop_assert_eq!(reader.str().unwrap(), s);
            let mut key = Vec::new();
            for expected in &keys {
                reader.front_coded(&mut key).unwrap();
                prop_assert_eq!(&key, expected);
            }
            prop_assert!(reader.is_empty());
            prop_assert_eq!(from_sortable(sortable(b)), b);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let mut reader = Reader::new(&bytes);
            let mut key = Vec::new();
            while reader.varint().is_ok() && reader.str().is_ok() && reader.front_coded(&mut key).is_ok() {}
        }

        #[test]
        fn sortable_sorts(a: i64, b: i64) {
            prop_assert_eq!(sortable(a).cmp(&sortable(b)), a.cmp(&b));
        }
    }
}

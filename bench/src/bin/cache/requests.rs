//! Classifies requests to an S3 store in a byte stream.

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes of an object.
    Data,
    /// Whether an object exists, and in which version.
    Head,
    /// Names.
    List,
    /// Any change.
    Other,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub(crate) const ALL: [Kind; 4] = [Kind::Data, Kind::Head, Kind::List, Kind::Other];

    /// Classifies a request by its first line. A path of one segment is a bucket.
    fn of(method: &str, target: &str) -> Kind {
        let path = target.split('?').next().unwrap_or_default();
        let is_object = path.trim_matches('/').contains('/');
        match method {
            "GET" if is_object => Kind::Data,
            "GET" => Kind::List,
            "HEAD" => Kind::Head,
            _ => Kind::Other,
        }
    }
}

/// Maximum length of a head; a longer one is invalid.
const HEAD_MAX: usize = 64 << 10;

/// Finds the request heads in the data that a client sends over a connection.
#[derive(Default)]
pub(crate) struct Requests {
    head: Vec<u8>,
    /// Remaining bytes of a body before the next head.
    body: u64,
}

impl Requests {
    /// Takes sent bytes and returns the requests that begin in them.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Vec<Kind> {
        let mut begun = Vec::new();
        loop {
            let of_body = usize::try_from(self.body).unwrap_or(usize::MAX).min(bytes.len());
            self.body -= of_body as u64;
            bytes = &bytes[of_body..];
            if bytes.is_empty() {
                return begun;
            }
            let before = self.head.len();
            self.head.extend_from_slice(bytes);
            let Some(end) = self.head.windows(4).position(|four| four == b"\r\n\r\n") else {
                if self.head.len() > HEAD_MAX {
                    self.head.clear();
                }
                return begun;
            };
            bytes = &bytes[end + 4 - before..];
            let head = String::from_utf8_lossy(&self.head[..end]).into_owned();
            self.head.clear();
            let mut lines = head.lines();
            let mut words = lines.next().unwrap_or_default().split(' ');
            let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            begun.push(Kind::of(method, target));
            self.body = lines.find_map(length).unwrap_or(0);
        }
    }
}

fn length(line: &str) -> Option<u64> {
    let (name, value) = line.split_once(':')?;
    if !name.eq_ignore_ascii_case("content-length") {
        return None;
    }
    value.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_however_they_are_cut() {
        let sent = b"PUT /b/k HTTP/1.1\r\nContent-Length: 21\r\n\r\nGET /no/such\r\n\r\nbytesGET /b?list-type=2 HTTP/1.1\r\n\r\n\
            HEAD /b/k HTTP/1.1\r\n\r\nGET /b/k?versionId=1 HTTP/1.1\r\nrange: bytes=0-1\r\n\r\n";
        for length in 1..sent.len() {
            let mut requests = Requests::default();
            let begun: Vec<Kind> = sent.chunks(length).flat_map(|part| requests.take(part)).collect();
            assert_eq!(
                begun,
                [Kind::Other, Kind::List, Kind::Head, Kind::Data],
                "cut every {length} bytes"
            );
        }
    }
}

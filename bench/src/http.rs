//! A minimal HTTP/1.1 client: requests over a persistent connection, one after the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail};

/// Longer than the server's own limit, so that its response arrives.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A connection to the server.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

/// A response.
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its complete body.
    pub body: Vec<u8>,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    /// If no server listens at the address.
    pub fn open(address: SocketAddr) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(address).context("connect")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Connection {
            stream: BufReader::with_capacity(64 << 10, stream),
        })
    }

    /// Sends a GET for a path and reads the response.
    ///
    /// # Errors
    /// If the connection breaks, or the response is invalid.
    pub fn get(&mut self, path: &str) -> anyhow::Result<Answer> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.answer()
    }

    /// Sends a body to a path and reads the response.
    ///
    /// # Errors
    /// As [`Connection::get`].
    pub fn post(&mut self, path: &str, body: &[u8]) -> anyhow::Result<Answer> {
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
        self.stream.get_mut().write_all(head.as_bytes())?;
        self.stream.get_mut().write_all(body)?;
        self.answer()
    }

    fn answer(&mut self) -> anyhow::Result<Answer> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.context("a response without a status")?;
        let (mut length, mut is_chunked) = (None, false);
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().ok();
                }
                Some((name, value)) if name.eq_ignore_ascii_case("transfer-encoding") => {
                    is_chunked = value.trim().eq_ignore_ascii_case("chunked");
                }
                _ => {}
            }
        }
        let mut body = Vec::new();
        match (length, is_chunked) {
            (_, true) => while self.chunk(&mut body)? {},
            (Some(length), false) => self.read(&mut body, length)?,
            (None, false) => bail!("a response without a length"),
        }
        Ok(Answer { status, body })
    }

    /// Appends a chunk to `body`; returns false for the last one, which is empty (RFC 9112, section
    /// 7.1).
    fn chunk(&mut self, body: &mut Vec<u8>) -> anyhow::Result<bool> {
        let line = self.line()?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).context("read the size of a chunk")?;
        self.read(body, size)?;
        self.line()?;
        Ok(size > 0)
    }

    fn read(&mut self, body: &mut Vec<u8>, length: usize) -> anyhow::Result<()> {
        let begin = body.len();
        body.resize(begin + length, 0);
        self.stream.read_exact(&mut body[begin..])?;
        Ok(())
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("the server closed the connection");
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}

/// Escapes a text for a query string.
pub fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => encoded.push(byte as char),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

//! Synthetic inputs: up to a few dozen records in WARC, WAT or WET form, as bytes.
//!
//! There are few URLs and few times, so that most captures compete with others for a page, a link
//! or a count. Every capture has a unique word in its text and another one in its title, so that
//! search can find it.

use std::fmt::Write as _;

use store_testkit::Dice;
use warc::{Compression, Draft, Kind, Writer};

/// Several addresses with the same key, hosts of the same domain, names that sort next to each
/// other, and an address without a domain.
const URLS: [&str; 13] = [
    "http://a.com/",
    "https://www.a.com/",
    "http://sub.a.com/x",
    "http://a.com:8080/x",
    "http://b.org/",
    "http://b.org/p?x=1&y=2",
    "https://b.org/p?y=2&x=1",
    "http://b-c.org/",
    "http://c.co.uk/",
    "http://co.uk/",
    "http://192.168.1.254/i",
    "http://d.net/1",
    "http://d.net/2",
];

/// 2024-01-01T00:00:00Z.
const FIRST_MS: i64 = 1_704_067_200_000;

/// A word in every page.
pub(super) const EVERYWHERE: &str = "everywhere";

/// The content of an input.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// File extension for its form and compression.
    pub(super) extension: &'static str,
    /// Shorter prefixes may be shared with other contents.
    pub(super) unique_bytes: usize,
    /// Words that each occur in a single capture.
    pub(super) words: Vec<String>,
    /// Description of the damage.
    pub(super) damage: &'static str,
}

/// Creates content number `number`.
pub(super) fn content(number: usize, dice: &mut Dice) -> Content {
    let mut records = Records {
        number,
        dice,
        words: Vec::new(),
    };
    let name = format!("crawl-{number}-{}", "x".repeat(number % 7));
    let mut drafts = vec![Draft::warcinfo(FIRST_MS, &[("description", &name)])];
    let count = 3 + records.dice.roll(22);
    let form = records.dice.roll(8);
    for _ in 0..count {
        drafts.push(match form {
            0 => records.wat(),
            1 => records.wet(),
            _ => records.any(),
        });
    }
    let words = records.words;
    let (compression, extension) = match dice.roll(4) {
        0 => (Compression::Plain, "warc"),
        1 => (
            Compression::Zstd {
                level: 1,
                dictionary: None,
            },
            "warc.zst",
        ),
        _ => (Compression::GZIP, "warc.gz"),
    };
    let (bytes, first_end) = write(&drafts, compression);
    let mut content = Content {
        bytes,
        extension,
        unique_bytes: first_end,
        words,
        damage: "",
    };
    if dice.roll(4) == 0 {
        damage(&mut content, dice);
    }
    content
}

/// Returns the bytes of these records, and the end of the first one.
fn write(drafts: &[Draft], compression: Compression) -> (Vec<u8>, usize) {
    let mut writer = Writer::new(Vec::new(), compression).expect("writing to memory never fails");
    let mut first_end = 0;
    for draft in drafts {
        let span = writer.write(draft).expect("writing to memory never fails");
        if first_end == 0 {
            first_end = span.end() as usize;
        }
    }
    (writer.finish().expect("writing to memory never fails"), first_end)
}

/// Damages the middle of the bytes. The start stays, because it distinguishes contents.
fn damage(content: &mut Content, dice: &mut Dice) {
    let bytes = &mut content.bytes;
    let room = (bytes.len() - content.unique_bytes) as u64;
    if room < 16 {
        return;
    }
    let at = content.unique_bytes + dice.roll(room - 8) as usize;
    content.damage = match dice.roll(3) {
        0 => {
            bytes[at] ^= 1 << dice.roll(8);
            " (a bit flipped)"
        }
        1 => {
            let end = (at + 1 + dice.roll(60) as usize).min(bytes.len());
            bytes.drain(at..end);
            " (bytes lost in the middle)"
        }
        _ => {
            let junk = (0..1 + dice.roll(40))
                .map(|_| dice.roll(256) as u8)
                .collect::<Vec<_>>();
            bytes.splice(at..at, junk);
            " (bytes inserted in the middle)"
        }
    };
}

struct Records<'d> {
    number: usize,
    dice: &'d mut Dice,
    words: Vec<String>,
}

impl Records<'_> {
    fn any(&mut self) -> Draft {
        match self.dice.roll(100) {
            0..50 => self.page(200),
            50..60 => self.redirect(),
            60..64 => self.redirect_to_itself(),
            64..68 => self.page(404),
            68..71 => self.page(503),
            71..79 => self.revisit(),
            79..84 => self.resource(),
            84..86 => self.picture(),
            86..90 => self.wat(),
            90..94 => self.wet(),
            94..97 => self.request(),
            _ => self.unusable(),
        }
    }

    fn url(&mut self) -> &'static str {
        URLS[self.dice.roll(URLS.len() as u64) as usize]
    }

    /// Returns one of eight times; later contents mostly have later ones.
    fn time_ms(&mut self) -> i64 {
        let slot = (self.number as u64 / 2 + self.dice.roll(5)) % 8;
        FIRST_MS + slot as i64 * 1000
    }

    /// Returns a word that no other capture has.
    fn word(&mut self) -> String {
        // Not a plural, and not part of a URL.
        const LETTERS: &[u8; 20] = b"bcdfghjklmnpqrtvwxza";
        let mut number = self.number * 1000 + self.words.len();
        let mut word = String::from("zq");
        for _ in 0..5 {
            word.push(char::from(LETTERS[number % LETTERS.len()]));
            number /= LETTERS.len();
        }
        self.words.push(word.clone());
        word
    }

    fn html(&mut self) -> String {
        let mut html = String::new();
        if self.dice.roll(6) > 0 {
            let _ = write!(html, "<title>{} of a page</title>", self.word());
        }
        let _ = write!(html, "<p>{EVERYWHERE} {} in the text</p>", self.word());
        for _ in 0..self.dice.roll(6) {
            let rel = ["", "", " rel=nofollow"][self.dice.roll(3) as usize];
            let anchor = ["", "words", "other words"][self.dice.roll(3) as usize];
            let _ = write!(html, "<a href=\"{}\"{rel}>{anchor}</a>", self.url());
        }
        html
    }

    fn page(&mut self, status: u16) -> Draft {
        let html = self.html();
        let block = format!("HTTP/1.1 {status} So\r\nContent-Type: text/html\r\n\r\n{html}");
        Draft::response(self.url(), self.time_ms(), block.into_bytes())
    }

    fn redirect(&mut self) -> Draft {
        let block = format!("HTTP/1.1 302 Found\r\nLocation: {}\r\n\r\n", self.url());
        Draft::response(self.url(), self.time_ms(), block.into_bytes())
    }

    fn redirect_to_itself(&mut self) -> Draft {
        let url = self.url();
        let block = format!("HTTP/1.1 301 Moved\r\nLocation: {url}#here\r\n\r\n");
        Draft::response(url, self.time_ms(), block.into_bytes())
    }

    fn revisit(&mut self) -> Draft {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec();
        let digest = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
        Draft::revisit(self.url(), self.time_ms(), digest, head)
    }

    fn resource(&mut self) -> Draft {
        let html = self.html();
        Draft::resource(self.url(), self.time_ms(), "text/html", html.into_bytes())
    }

    fn picture(&mut self) -> Draft {
        let block = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nno picture".to_vec();
        Draft::response(self.url(), self.time_ms(), block)
    }

    fn request(&mut self) -> Draft {
        Draft::request(self.url(), self.time_ms(), b"GET / HTTP/1.1\r\n\r\n".to_vec())
    }

    fn wet(&mut self) -> Draft {
        let text = format!("{} of a page\n{EVERYWHERE} {}\n", self.word(), self.word());
        Draft::conversion(self.url(), self.time_ms(), "text/plain", text.into_bytes())
    }

    fn wat(&mut self) -> Draft {
        let (url, time_ms) = (self.url(), self.time_ms());
        let status = [200, 200, 200, 302, 404][self.dice.roll(5) as usize];
        let mut links = String::new();
        for at in 0..self.dice.roll(5) {
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(
                links,
                r#"{comma}{{"path":"A@/href","url":"{}","text":"from WAT"}}"#,
                self.url()
            );
        }
        let (title, location) = (self.word(), self.url());
        let json = format!(
            r#"{{"Envelope":{{"WARC-Header-Metadata":{{"WARC-Type":"response","WARC-Target-URI":"{url}","WARC-Date":"{}"}},"Payload-Metadata":{{"HTTP-Response-Metadata":{{"Response-Message":{{"Status":"{status}"}},"Headers":{{"Content-Type":"text/html","Location":"{location}"}},"HTML-Metadata":{{"Head":{{"Title":"{EVERYWHERE} {title}"}},"Links":[{links}]}}}}}}}}}}"#,
            warc::format_date(time_ms),
        );
        Draft::metadata(url, time_ms, "application/json", json.into_bytes())
    }

    /// Returns a response that cannot be a capture.
    fn unusable(&mut self) -> Draft {
        let block = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        match self.dice.roll(2) {
            0 => Draft::new(Kind::Response, self.time_ms(), block).field("Content-Type", "application/http"),
            _ => Draft::response("http:///", self.time_ms(), block),
        }
    }
}

//! `warc`: the two decoders of gzip members, sirocco (one step) and zlib-rs (incremental). Both
//! return the same bytes and the same end, and reject the same streams.
//!
//! An input is a deflate stream, or the recipe of one (see [`stream`]). Mutating a recipe changes
//! content, level and single bytes of an otherwise valid stream, which reaches more code than
//! mutating compressed bytes.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use sirocco::Format;
use sirocco::inflate::Decoder;

use super::Target;

/// The target; the head of this file describes inputs and properties.
pub const TARGET: Target = Target {
    name: "inflate",
    about: "deflate streams, decoded by sirocco and by zlib-rs",
    run,
    seeds,
    from_file: |bytes| recipe(6, 0, &[], &bytes),
    tokens: &[
        b"\x00\x00\x00\xff\xff",
        b"\x01\x00\x00\xff\xff",
        b"\x03\x00",
        b"\x1f\x8b\x08",
        b"\xed\xc0\x01",
        b"<a href=\"",
        b"WARC/1.0\r\n",
    ],
};

/// Maximum length of compared content. Longer content must overflow both outputs.
const CONTENT_BYTES_MAX: usize = 1 << 20;

/// The result of decoding.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The stream ended: number of bytes consumed, and content.
    Whole(usize, Vec<u8>),
    /// The stream is invalid, truncated, or longer than the output.
    Not,
}

/// Decodes the stream and compares the results.
pub fn run(bytes: &[u8]) {
    let stream = stream(bytes);
    let expected = in_steps(&stream, CONTENT_BYTES_MAX);
    // A decoder is used for all members of a file, so it starts with the state that another stream
    // left.
    let mut decoder = Decoder::new(Format::Deflate);
    let mut output = vec![0xa5; CONTENT_BYTES_MAX];
    whole(&mut decoder, &stream[..stream.len() / 2], &mut output);
    assert_eq!(
        short(&whole(&mut decoder, &stream, &mut output)),
        short(&expected),
        "with enough room (sirocco left, zlib-rs right)"
    );
    if let End::Whole(consumed, content) = &expected {
        let exact = &mut output[..content.len()];
        assert_eq!(
            whole(&mut decoder, &stream, exact),
            expected,
            "with no room beyond the content"
        );
        assert_eq!(
            whole(&mut decoder, &stream[..*consumed], exact),
            expected,
            "with no bytes after the stream"
        );
        if let Some(less) = content.len().checked_sub(1) {
            let too_short = whole(&mut decoder, &stream, &mut output[..less]);
            assert_eq!(too_short, End::Not, "with less room than the content");
        }
        if let Some(less) = consumed.checked_sub(1) {
            let cut = whole(&mut decoder, &stream[..less], &mut output);
            assert_eq!(cut, End::Not, "without the last byte");
        }
    }
    let plain = b"plain content, plain content";
    let after = whole(&mut decoder, &deflated(plain, 6), &mut output);
    let End::Whole(_, content) = after else {
        panic!("the next stream is not decoded")
    };
    assert_eq!(content, plain, "the next stream has other content");
}

/// Returns a short form for failure messages: lengths, and a hash of the content.
fn short(end: &End) -> (Option<(usize, usize)>, blake3::Hash) {
    match end {
        End::Whole(consumed, content) => (Some((*consumed, content.len())), blake3::hash(content)),
        End::Not => (None, blake3::hash(b"")),
    }
}

fn whole(decoder: &mut Decoder, stream: &[u8], output: &mut [u8]) -> End {
    decoder.reset();
    match decoder.decompress(stream, output, true) {
        Ok(progress) if progress.done => End::Whole(progress.consumed, progress.output.to_vec()),
        _ => End::Not,
    }
}

/// Decodes the stream with zlib-rs, if its content has at most `bytes_max` bytes.
fn in_steps(stream: &[u8], bytes_max: usize) -> End {
    let mut inflate = Decompress::new(false);
    let mut content = vec![0; bytes_max];
    loop {
        let (taken, written) = (inflate.total_in() as usize, inflate.total_out() as usize);
        let status = inflate.decompress(&stream[taken..], &mut content[written..], FlushDecompress::None);
        let (now_taken, now_written) = (inflate.total_in() as usize, inflate.total_out() as usize);
        match status {
            Ok(Status::StreamEnd) => {
                content.truncate(now_written);
                return End::Whole(now_taken, content);
            }
            Ok(_) if (now_taken, now_written) != (taken, written) => {}
            _ => return End::Not,
        }
    }
}

/// Returns the stream of an input. If the first byte is 0 to 9, the input is a recipe; otherwise
/// the rest is the stream itself.
///
/// A recipe has the level, the number of repetitions of the content, the number of changes, the
/// changes (two bytes for the position and one to XOR), and the content.
fn stream(bytes: &[u8]) -> Vec<u8> {
    let [level @ 0..=9, times, count, rest @ ..] = bytes else {
        return bytes.get(1..).unwrap_or_default().to_vec();
    };
    let (changes, content) = rest.split_at(rest.len().min(usize::from(count % 8) * 3));
    let times = usize::from(*times).min(CONTENT_BYTES_MAX / content.len().max(1)) + 1;
    let mut stream = deflated(&content.repeat(times), u32::from(*level));
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % stream.len();
        stream[at] ^= change[2];
    }
    stream
}

fn deflated(content: &[u8], level: u32) -> Vec<u8> {
    let mut compress = Compress::new(Compression::new(level), false);
    let mut stream = Vec::new();
    loop {
        stream.reserve(content.len() / 2 + 256);
        let left = &content[compress.total_in() as usize..];
        match compress.compress_vec(left, &mut stream, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => break,
            Ok(_) => {}
            Err(error) => panic!("cannot compress: {error}"),
        }
    }
    // The trailer of a member, and the start of the next.
    stream.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0x1f, 0x8b, 8, 0]);
    stream
}

fn recipe(level: u8, times: u8, changes: &[u8], content: &[u8]) -> Vec<u8> {
    let count = u8::try_from(changes.len() / 3).unwrap_or_default();
    [&[level, times, count], changes, content].concat()
}

fn seeds() -> Vec<Vec<u8>> {
    let text = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://www.example.org/\r\n\r\n";
    let noise: Vec<u8> = (0..4000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let mut seeds = vec![
        // Blocks: stored, empty; fixed codes; a match before the start; an unused distance code.
        b"\xff\x01\x05\x00\xfa\xffhello".to_vec(),
        b"\xff\x03\x00".to_vec(),
        b"\xff\x4b\x4c\x04\x02\x00".to_vec(),
        b"\xff\xed\xc0\x01\x01\x00\x00\x00\x80\x90\xfe\x37\xef\x80".to_vec(),
        b"\xff\x05\xc0\x81\x08\x00\x00\x00\x00\x20\x7f\xeb\x0f".to_vec(),
        recipe(6, 255, &[], &[0; 4000]),
    ];
    for level in 0..=9 {
        seeds.push(recipe(level, 0, &[], text));
        seeds.push(recipe(level, 9, &[3, 0, 8], text));
        seeds.push(recipe(level, 1, &[20, 0, 1, 90, 0, 64], &noise));
        seeds.push(
            [
                &[0xff][..],
                &deflated(&[&text[..], &noise[..500]].concat(), u32::from(level)),
            ]
            .concat(),
        );
    }
    seeds
}

//! Host names that are IP addresses in another notation.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Returns the address that browsers and C libraries (`inet_aton`) parse from `host`: up to four
/// numbers, of which the last fills the remaining bytes (`1.2` is `1.0.0.2`), decimal, octal
/// (`0..`) or hexadecimal (`0x..`).
///
/// A single decimal number is taken modulo 2^32, even with leading zeros, because archives have
/// long done so.
pub(crate) fn ipv4(host: &[u8]) -> Option<Ipv4Addr> {
    if !host.first()?.is_ascii_digit() {
        return None;
    }
    if host.iter().all(u8::is_ascii_digit) {
        let value = host.iter().fold(0u32, |value, digit| {
            value.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'))
        });
        return Some(Ipv4Addr::from(value));
    }
    dotted(host)
}

fn dotted(host: &[u8]) -> Option<Ipv4Addr> {
    let mut numbers = [0u64; 4];
    let mut count = 0;
    for part in host.split(|&b| b == b'.') {
        *numbers.get_mut(count)? = number(part)?;
        count += 1;
    }
    let (last, leading) = numbers[..count].split_last()?;
    // Each leading number is one byte.
    let bits_left = 32 - 8 * leading.len() as u32;
    if leading.iter().any(|&n| n > 255) || *last >> bits_left != 0 {
        return None;
    }
    let head = leading.iter().fold(0u64, |value, n| value << 8 | n);
    u32::try_from(head << bits_left | last).ok().map(Ipv4Addr::from)
}

fn number(part: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(part).ok()?;
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // `from_str_radix` accepts a sign, which an address cannot have.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix)
        .ok()
        .filter(|&n| n <= u64::from(u32::MAX))
}

/// Returns an IPv6 address as in URLs, without brackets and without a dotted tail; `None` if `host`
/// is not an IPv6 address.
pub(crate) fn ipv6(host: &str) -> Option<String> {
    let address: Ipv6Addr = host.parse().ok()?;
    let [.., high, low] = address.segments();
    Some(match address.to_ipv4_mapped() {
        // `Ipv6Addr` formats mapped addresses with a dotted tail; the WHATWG URL standard uses
        // hexadecimal.
        Some(_) => format!("::ffff:{high:x}:{low:x}"),
        None => address.to_string(),
    })
}

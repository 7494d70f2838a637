//! Identifiers of archives and tables.

/// Returns a new identifier for an archive or a table: a random UUID (RFC 9562, version 4).
pub fn new_id() -> String {
    let mut bytes: [u8; 16] = system::random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

//! The name of a set of links.

/// First bytes of the BLAKE3 hash of links as encoded by [`encode`](super::links::encode). As for texts, strangers must
/// not be able to make two sets collide.
pub(crate) type LinksName = [u8; 16];

pub(crate) fn name_of_row(row: &[u8]) -> LinksName {
    let mut name = LinksName::default();
    name.copy_from_slice(&blake3::hash(row).as_bytes()[..16]);
    name
}

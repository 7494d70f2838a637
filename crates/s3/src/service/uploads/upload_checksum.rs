//! The checksum of an upload: chosen when the upload begins, computed from the parts' checksums at
//! completion.

use s3s::S3Result;
use s3s::dto::{Checksum, ChecksumAlgorithm, ChecksumType, CompleteMultipartUploadInput};
use store::{Multipart, Part as Received};

use crate::attributes::PART_SUMS;
use crate::checksum::{self, ALL, Algorithm, COMPOSITE, FULL_OBJECT, TYPE, sums_of};
use crate::error::fault;

/// Longest stored list of part checksums in bytes: fits 728 of SHA-256 or 3,640 of CRC32. A page of
/// a listing holds the attributes of a thousand objects.
const PART_SUMS_BYTES_MAX: usize = 32 * 1024;

/// Attribute of an upload: algorithm and type of its checksum, such as `CRC32 COMPOSITE`.
const CHECKSUM: &str = "weft-checksum";

/// The checksum chosen for an upload.
#[derive(Clone, Copy)]
pub(super) struct UploadChecksum {
    pub(super) algorithm: Algorithm,
    full: bool,
}

impl UploadChecksum {
    /// Returns the checksum that the client requested.
    pub(super) fn of(
        algorithm: Option<&ChecksumAlgorithm>,
        kind: Option<&ChecksumType>,
    ) -> S3Result<Option<Self>> {
        let Some(algorithm) = algorithm.map(ChecksumAlgorithm::as_str) else {
            return match kind {
                None => Ok(None),
                Some(_) => Err(fault(
                    "InvalidRequest",
                    "a checksum type requires a checksum algorithm",
                )),
            };
        };
        let algorithm = Algorithm::by_name(algorithm)?;
        let kind = kind.map(ChecksumType::as_str);
        let full = match (algorithm, kind) {
            // S3's table: CRC64NVME only of the whole, SHA only of the parts, the other two either
            // way.
            (Algorithm::Crc64Nvme, None | Some(FULL_OBJECT)) => true,
            (Algorithm::Crc32 | Algorithm::Crc32c, Some(FULL_OBJECT)) => true,
            (Algorithm::Crc32 | Algorithm::Crc32c, None | Some(COMPOSITE)) => false,
            (Algorithm::Sha1 | Algorithm::Sha256, None | Some(COMPOSITE)) => false,
            (_, kind) => {
                let kind = kind.unwrap_or_default();
                let detail = format!(
                    "the checksum type {kind:?} cannot be used with {}",
                    algorithm.name()
                );
                return Err(fault("InvalidRequest", detail));
            }
        };
        Ok(Some(Self { algorithm, full }))
    }

    /// Returns the checksum stored with an upload.
    pub(super) fn of_upload(upload: &Multipart) -> Option<Self> {
        let (algorithm, kind) = upload.attributes.get(CHECKSUM)?.split_once(' ')?;
        Some(Self {
            algorithm: Algorithm::by_name(algorithm).ok()?,
            full: kind == FULL_OBJECT,
        })
    }

    /// Returns the attribute to store with the upload, and its value.
    pub(super) fn encode(self) -> (String, String) {
        let value = format!("{} {}", self.algorithm.name(), self.kind().as_str());
        (CHECKSUM.to_owned(), value)
    }

    /// Returns the algorithm's name in S3.
    pub(super) fn name(self) -> ChecksumAlgorithm {
        ChecksumAlgorithm::from_static(self.algorithm.name())
    }

    /// Returns the type's name in S3.
    pub(super) fn kind(self) -> ChecksumType {
        ChecksumType::from_static(if self.full { FULL_OBJECT } else { COMPOSITE })
    }

    /// Returns the checksums of parts, with the parts' lengths.
    fn sums(self, parts: &[&Received]) -> S3Result<Vec<(String, u64)>> {
        let header = self.algorithm.header();
        let mut sums = Vec::with_capacity(parts.len());
        for part in parts {
            let Some(sum) = part.meta.attributes.get(header) else {
                let detail = format!("part {} was stored without its checksum", part.number);
                return Err(fault("InternalError", detail));
            };
            sums.push((sum.clone(), part.meta.size));
        }
        Ok(sums)
    }

    /// Returns the checksum of an object made from parts.
    fn of_parts(self, sums: &[(String, u64)]) -> S3Result<String> {
        if self.full {
            return checksum::combined(self.algorithm, sums);
        }
        let sums: Vec<_> = sums.iter().map(|(sum, _)| sum.clone()).collect();
        checksum::composite(self.algorithm, &sums)
    }
}

/// Returns the attributes of the object's checksum, computed from those of its parts. It is
/// compared with the client's declaration.
pub(super) fn join(
    upload_checksum: Option<UploadChecksum>,
    chosen: &[&Received],
    input: &CompleteMultipartUploadInput,
) -> S3Result<Vec<(String, String)>> {
    let declared = sums_of!(input);
    check_kind(upload_checksum, input.checksum_type.as_ref(), &declared)?;
    let Some(upload_checksum) = upload_checksum else {
        return Ok(Vec::new());
    };
    let header = upload_checksum.algorithm.header();
    let sums = upload_checksum.sums(chosen)?;
    let sum = upload_checksum.of_parts(&sums)?;
    // Clients may omit the number of parts at the end.
    let bare = sum.split('-').next().unwrap_or_default();
    if let Some(declared) = upload_checksum.algorithm.value(&declared)
        && declared != sum
        && declared != bare
    {
        let name = upload_checksum.algorithm.name();
        let detail = format!("the {name} is {sum}, {header} says {declared}");
        return Err(fault("BadDigest", detail));
    }
    let of_parts: Vec<_> = sums.into_iter().map(|(sum, _)| sum).collect();
    // A list that is too long is not stored. Then only the checksums of single parts are missing,
    // not that of the object.
    let of_parts = Some(of_parts.join(",")).filter(|text| text.len() <= PART_SUMS_BYTES_MAX);
    let mut attributes = vec![
        (header.to_owned(), sum),
        (TYPE.to_owned(), upload_checksum.kind().as_str().to_owned()),
    ];
    attributes.extend(of_parts.map(|text| (PART_SUMS.to_owned(), text)));
    Ok(attributes)
}

/// Refuses a declared checksum whose algorithm or type differs from the chosen one.
fn check_kind(
    upload_checksum: Option<UploadChecksum>,
    kind: Option<&ChecksumType>,
    declared: &Checksum,
) -> S3Result<()> {
    let algorithm = upload_checksum.map(|upload_checksum| upload_checksum.algorithm);
    let mut others = ALL.into_iter().filter(|other| Some(*other) != algorithm);
    let other = others.any(|other| other.value(declared).is_some());
    if other
        || kind
            .is_some_and(|kind| upload_checksum.is_none_or(|upload_checksum| upload_checksum.kind() != *kind))
    {
        let detail = "the checksum is not of the type given when the upload was created";
        return Err(fault("InvalidRequest", detail));
    }
    Ok(())
}

//! Listings of open uploads, and of the parts of an upload.

use s3s::dto::{
    Initiator, ListMultipartUploadsInput, ListMultipartUploadsOutput, ListPartsInput, ListPartsOutput,
    MultipartUpload, Owner, Part, StorageClass,
};
use s3s::{S3Request, S3Result};
use store::{Multipart, Part as Received};

use super::created_at;
use super::upload_checksum::UploadChecksum;
use crate::attributes::{self, OWNER};
use crate::checksum::{self, set_sums};
use crate::error::from_store;
use crate::names;
use crate::service::key_encoding::KeyEncoding;
use crate::service::lists::limit;
use crate::service::{StoreService, etag, signed};

/// A page of open uploads.
#[derive(Default)]
struct OpenUploads {
    uploads: Vec<Multipart>,
    prefixes: Vec<String>,
    /// Key and id of the last upload examined.
    last: Option<(String, String)>,
    more: bool,
}

impl StoreService {
    /// Lists the parts received so far.
    pub(in crate::service) async fn list_parts(
        &self,
        request: S3Request<ListPartsInput>,
    ) -> S3Result<ListPartsOutput> {
        let input = request.input;
        let key = names::object(&input.bucket, &input.key)?;
        let upload = self.upload(&input.bucket, &key, &input.upload_id).await?;
        let limit = limit(input.max_parts)?;
        let after = u32::try_from(input.part_number_marker.unwrap_or(0)).unwrap_or(0);
        let page = self
            .store
            .list_parts(&key, &upload.id, after, limit)
            .await
            .map_err(from_store)?;
        let upload_checksum = UploadChecksum::of_upload(&upload);
        let last = page.parts.last().map_or(after, |part| part.number);
        Ok(ListPartsOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            initiator: Some(initiator(&upload)),
            owner: Some(owner(&upload)),
            upload_id: Some(upload.id),
            checksum_algorithm: upload_checksum.map(UploadChecksum::name),
            checksum_type: upload_checksum.map(UploadChecksum::kind),
            is_truncated: Some(page.more),
            max_parts: i32::try_from(limit).ok(),
            next_part_number_marker: i32::try_from(last).ok(),
            part_number_marker: input.part_number_marker.or(Some(0)),
            parts: Some(page.parts.iter().map(part).collect()),
            storage_class: Some(StorageClass::from_static(StorageClass::STANDARD)),
            ..ListPartsOutput::default()
        })
    }

    /// Lists a bucket's open uploads.
    pub(in crate::service) async fn list_multipart_uploads(
        &self,
        request: S3Request<ListMultipartUploadsInput>,
    ) -> S3Result<ListMultipartUploadsOutput> {
        let input = request.input;
        let mut encoding = KeyEncoding::of(input.encoding_type.as_ref())?;
        self.bucket(&input.bucket).await?;
        let limit = limit(input.max_uploads)?;
        let page = self.open_uploads(&input, limit).await?;
        let last = page.last.filter(|_| page.more);
        let (next_key, next_id) = last.unzip();
        let keys = page.uploads.iter().map(|upload| upload.key.name());
        let requested = [&input.prefix, &input.delimiter, &input.key_marker];
        let requested = requested.into_iter().flatten().chain(&page.prefixes);
        for text in keys.chain(requested.map(String::as_str)) {
            encoding = encoding.carrying(text);
        }
        let uploads = page.uploads.iter().map(|upload| listed(upload, encoding));
        Ok(ListMultipartUploadsOutput {
            uploads: Some(uploads.collect()),
            common_prefixes: Some(encoding.prefixes(&page.prefixes)),
            bucket: Some(input.bucket),
            delimiter: encoding.write(input.delimiter),
            encoding_type: encoding.encoding(),
            is_truncated: Some(page.more),
            key_marker: encoding.write(input.key_marker.or_else(|| Some(String::new()))),
            max_uploads: i32::try_from(limit).ok(),
            next_key_marker: encoding.write(next_key),
            next_upload_id_marker: next_id,
            prefix: encoding.write(input.prefix.or_else(|| Some(String::new()))),
            request_charged: None,
            upload_id_marker: input.upload_id_marker,
        })
    }

    /// Reads a page of open uploads. The store lists them in order of `key/id`. Prefixes are rolled
    /// up here, because a delimiter must not match within an id.
    async fn open_uploads(&self, input: &ListMultipartUploadsInput, limit: usize) -> S3Result<OpenUploads> {
        let bucket = format!("{}/", input.bucket);
        let prefix = format!("{bucket}{}", input.prefix.as_deref().unwrap_or_default());
        let delimiter = input
            .delimiter
            .as_deref()
            .filter(|delimiter| !delimiter.is_empty());
        let marker = input.key_marker.as_deref().filter(|marker| !marker.is_empty());
        let id_marker = input
            .upload_id_marker
            .as_deref()
            .filter(|marker| !marker.is_empty());
        let mut after = match (marker, id_marker) {
            (Some(key), Some(id)) => Some(format!("{bucket}{key}/{id}")),
            _ => None,
        };
        let past = marker.filter(|_| id_marker.is_none());
        let mut page = OpenUploads::default();
        if limit == 0 {
            return Ok(page);
        }
        loop {
            let begun = self
                .store
                .list_multiparts(&prefix, after.as_deref(), 1000)
                .await
                .map_err(from_store)?;
            for upload in begun.open {
                let name = upload.key.name();
                if past.is_some_and(|past| name <= past) {
                    continue;
                }
                let rolled = delimiter.and_then(|delimiter| {
                    let rest = upload.key.as_str().strip_prefix(&prefix)?;
                    let end = rest.find(delimiter)? + delimiter.len();
                    name.get(..name.len() - rest.len() + end).map(str::to_owned)
                });
                if rolled
                    .as_ref()
                    .is_some_and(|rolled| page.prefixes.contains(rolled))
                {
                    page.last = Some((name.to_owned(), upload.id));
                    continue;
                }
                if page.uploads.len() + page.prefixes.len() == limit {
                    page.more = true;
                    return Ok(page);
                }
                page.last = Some((name.to_owned(), upload.id.clone()));
                match rolled {
                    Some(rolled) => page.prefixes.push(rolled),
                    None => page.uploads.push(upload),
                }
            }
            after = begun.next;
            if after.is_none() {
                return Ok(page);
            }
        }
    }
}

fn listed(upload: &Multipart, encoding: KeyEncoding) -> MultipartUpload {
    let upload_checksum = UploadChecksum::of_upload(upload);
    MultipartUpload {
        checksum_algorithm: upload_checksum.map(UploadChecksum::name),
        checksum_type: upload_checksum.map(UploadChecksum::kind),
        initiated: Some(created_at(upload)),
        initiator: Some(initiator(upload)),
        owner: Some(owner(upload)),
        key: encoding.write(Some(upload.key.name().to_owned())),
        storage_class: Some(StorageClass::from_static(StorageClass::STANDARD)),
        upload_id: Some(upload.id.clone()),
    }
}

/// Returns the user who began an upload.
fn initiator(upload: &Multipart) -> Initiator {
    let user = upload.attributes.get(OWNER).cloned();
    Initiator {
        display_name: user.clone(),
        id: user,
    }
}

fn owner(upload: &Multipart) -> Owner {
    let user = upload.attributes.get(OWNER).cloned();
    Owner {
        display_name: user.clone(),
        id: user,
    }
}

fn part(part: &Received) -> Part {
    let mut listed = Part {
        e_tag: etag(&part.meta),
        last_modified: Some(attributes::modified(&part.meta)),
        part_number: i32::try_from(part.number).ok(),
        size: Some(signed(part.meta.size)),
        ..Part::default()
    };
    set_sums!(listed, checksum::stored(&part.meta.attributes));
    listed
}

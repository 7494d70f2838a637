//! Files of servers that do not support ranges: copied once into a temporary file.

use std::fs::File;
use std::io::{self, ErrorKind, Write};

use futures_util::StreamExt;

use crate::failure::Failure;
use crate::retry::Retries;
use crate::settings::Retry;
use crate::web::WebFile;

/// Downloads the whole file into an unnamed file. After a failure it starts again from the
/// beginning.
pub(crate) async fn download(web: WebFile, retry: Retry) -> io::Result<File> {
    tracing::warn!(
        address = &*web.shown_address(),
        "this server does not support range requests: the input is first copied to a temporary file"
    );
    let mut retries = Retries::new(retry);
    loop {
        match once(&web, &retries).await {
            Ok(file) => return Ok(file),
            Err(failure) => retries.wait_or_fail(failure).await?,
        }
    }
}

async fn once(web: &WebFile, retries: &Retries) -> Result<File, Failure> {
    let (stat, mut body) = retries.with_timeout(web.whole()).await?;
    let mut file = tempfile::tempfile().map_err(Failure::Final)?;
    let mut size = 0;
    while let Some(piece) = retries
        .with_timeout(async { body.next().await.transpose() })
        .await?
    {
        size += piece.len() as u64;
        // Blocking is acceptable: the writes mostly go to the page cache.
        file.write_all(&piece).map_err(Failure::Final)?;
    }
    match stat.size {
        Some(told) if told != size => Err(Failure::passing(format!(
            "the answer ended after {size} of {told} bytes"
        ))),
        // Without a length, an empty response cannot be distinguished from one that was cut off at
        // its start.
        _ if size == 0 && stat.size != Some(0) => {
            Err(Failure::lasting(ErrorKind::UnexpectedEof, "an empty answer"))
        }
        _ => Ok(file),
    }
}

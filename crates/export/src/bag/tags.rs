//! Writes the other files of a bag: the declaration, `bag-info.txt`, manifests of the files and of
//! these (RFC 8493, 2.1 and 2.2).

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256, Sha512};

use super::{BagError, BagReport, Payload, failed};

const DECLARATION: &str = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";

/// Returns a phrase for the content of a bag.
pub(super) fn described(collection: Option<&str>) -> String {
    match collection {
        Some(collection) => format!("the collection {collection}"),
        None => "the archive".to_owned(),
    }
}

/// Writes everything except the files of the collection.
pub(super) fn write(
    folder: &Path,
    collection: Option<&str>,
    payload: &mut [Payload],
    bagged: &BagReport,
) -> Result<(), BagError> {
    payload.sort_by(|a, b| a.path.cmp(&b.path));
    let manifest = |digest: fn(&Payload) -> &str| {
        payload.iter().fold(String::new(), |mut lines, file| {
            let _ = writeln!(lines, "{}  {}", digest(file), encoded(&file.path));
            lines
        })
    };
    let tags = [
        ("bagit.txt", DECLARATION.to_owned()),
        ("bag-info.txt", info(collection, bagged)),
        ("manifest-sha256.txt", manifest(|file| &file.sha256)),
        ("manifest-sha512.txt", manifest(|file| &file.sha512)),
    ];
    let (mut of_sha256, mut of_sha512) = (String::new(), String::new());
    for (name, text) in &tags {
        put(folder, name, text)?;
        let _ = writeln!(of_sha256, "{}  {name}", HEXLOWER.encode(&Sha256::digest(text)));
        let _ = writeln!(of_sha512, "{}  {name}", HEXLOWER.encode(&Sha512::digest(text)));
    }
    put(folder, "tagmanifest-sha256.txt", &of_sha256)?;
    put(folder, "tagmanifest-sha512.txt", &of_sha512)?;
    for folder in [folder, &folder.join("data")] {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed(folder))?;
    }
    Ok(())
}

fn info(collection: Option<&str>, bagged: &BagReport) -> String {
    let today = format::date::iso(system::time_ms());
    let mut info = format!(
        "Bag-Software-Agent: Weft {}\nBagging-Date: {}\nPayload-Oxum: {}.{}\nExternal-Description: web-archive files of {}, as they were loaded\n",
        archive::VERSION,
        today.split('T').next().unwrap_or_default(),
        bagged.bytes,
        bagged.files,
        one_line(&described(collection)),
    );
    if let Some(collection) = collection {
        let _ = writeln!(info, "Bag-Group-Identifier: {}", one_line(collection));
    }
    if !bagged.left_out.is_empty() {
        // Only the number and no names: takedowns must not be revealed wherever the bag is sent.
        let _ = writeln!(info, "Weft-Files-Left-Out: {}", bagged.left_out.len());
    }
    info
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Returns a path as manifests have it: line ends and the percent sign are encoded.
fn encoded(path: &str) -> String {
    path.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn put(folder: &Path, name: &str, text: &str) -> Result<(), BagError> {
    let path = folder.join(name);
    let put = File::create_new(&path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    put.map_err(failed(&path))
}

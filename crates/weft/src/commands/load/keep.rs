//! `weft load --keep`: puts local inputs into the store and loads them from there.
//!
//! Invariants:
//! - Nothing is written before every input was checked.
//! - An input is loaded from the store only after reading it back with the SHA-256 of the file.
//! - An object with other content is never replaced.
//! - A requested retention is in force before the input is loaded, even if the object already
//!   existed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Component, Path};

use anyhow::{Context as _, bail};
use archive::question::LoadRequest;
use cluster::ConnectSettings;
use data_encoding::HEXLOWER;
use digests::Sha256;
use futures_util::StreamExt;
use inputs::LoadInput;
use inputs::{ResolvedInput, is_address, is_local_member, path_of, resolve_inputs};
use serde::Serialize;
use store::{Condition, Key, Meta, Protect, Protection, Put, Retention, Store, StoreError, bucket};

use crate::commands::store::content;
use crate::commands::store::key::make_bucket;
use crate::commands::store::retention::ProtectionBody;
use crate::commands::store::session::{Session, StoreMode, with_store};
use crate::context::Context;
use crate::exit::print_error;
use crate::outcome::{NotFound, WrongUse};
use crate::style::clean;
use crate::units::{bytes, counted};

/// A kept input as printed by `--json`.
#[derive(Serialize)]
struct KeptInput<'a> {
    kept: &'a str,
    input: &'a str,
    size: u64,
    sha256: String,
    /// Whether this command wrote it.
    written: bool,
    protection: ProtectionBody,
}

/// Puts the files of a request into the store. Returns the inputs to load instead, and the number
/// of inputs that could not be stored. The latter are reported and left out.
pub(super) fn keep(
    request: &LoadRequest,
    bucket: &str,
    retention: Option<Retention>,
    place: ConnectSettings,
    context: &mut Context,
) -> anyhow::Result<(Vec<LoadInput>, u64)> {
    bucket::check_name(bucket).map_err(|error| WrongUse(error.to_string()))?;
    let sources = context.remote_inputs.sources();
    let found = resolve_inputs(&request.inputs, &request.allow_elsewhere, &sources);
    report_problems(&found, bucket, context)?;
    // The check may have opened the store's volumes, which only one process can have open.
    context.remote_inputs.close();
    let protect = retention.map(Protect::extend).unwrap_or_default();
    with_store(place, StoreMode::Create, async |session| {
        if !found.iter().all(|input| is_address(&input.location)) {
            make_bucket(&session.store(), bucket).await?;
        }
        let (mut kept, mut failed) = (Vec::new(), 0);
        for input in found {
            let location = input.location;
            // Remote inputs are not copied.
            if is_address(&location) {
                kept.push(LoadInput {
                    name: input.name,
                    path: sources.with_secrets(&location),
                });
                continue;
            }
            match keep_file(
                session,
                &input.name,
                &path_of(&location),
                bucket,
                protect,
                context,
            )
            .await
            {
                Ok(address) => kept.push(LoadInput {
                    name: address.clone(),
                    path: address,
                }),
                Err(error) if session.stop.is_requested() => return Err(error),
                Err(error) => {
                    print_error(&error, context);
                    failed += 1;
                }
            }
        }
        Ok((kept, failed))
    })
}

/// Checks all inputs before anything is written. An unreadable input or a duplicate name is
/// reported now, and the store stays unchanged.
fn report_problems(found: &[ResolvedInput], bucket: &str, context: &Context) -> anyhow::Result<()> {
    let mut named: BTreeMap<String, &str> = BTreeMap::new();
    let mut wrong = 0;
    for input in found {
        let problem = match &input.problem {
            Some(problem) => Some(NotFound(format!("{}: {problem}", input.name)).into()),
            None if is_local_member(&input.location) => {
                let name = &input.name;
                let what = format!(
                    "{name} is in a package, and packages are stored whole: store the package with weft \
                     store put, then load its store:// address"
                );
                Some(WrongUse(what).into())
            }
            None if is_address(&input.location) => None,
            None => problem_of(input, bucket, &mut named).err(),
        };
        if let Some(problem) = problem {
            print_error(&problem, context);
            wrong += 1;
        }
    }
    if wrong > 0 {
        let inputs = counted(wrong, "input", "inputs");
        bail!(
            "{inputs} of {} cannot be stored, so none was: remove or repair them",
            found.len()
        );
    }
    Ok(())
}

fn problem_of<'a>(
    input: &'a ResolvedInput,
    bucket: &str,
    named: &mut BTreeMap<String, &'a str>,
) -> anyhow::Result<()> {
    let ResolvedInput { name, location, .. } = input;
    let key = Key::new(bucket, &object_name(name)).map_err(|error| WrongUse(error.to_string()))?;
    File::open(path_of(location)).with_context(|| format!("read {name}"))?;
    match named.insert(key.to_string(), name) {
        Some(other) => Err(WrongUse(format!("{other} and {name} would both become store://{key}")).into()),
        None => Ok(()),
    }
}

/// Puts a file into the store if it is missing, protects it, reads it back, and reports it.
async fn keep_file(
    session: &Session,
    name: &str,
    path: &Path,
    bucket: &str,
    protect: Protect,
    context: &mut Context,
) -> anyhow::Result<String> {
    let key = Key::new(bucket, &object_name(name)).with_context(|| format!("store {name}"))?;
    let digested = path.to_owned();
    let (sha256, size) = system::blocking(move || digest(&digested))
        .await?
        .with_context(|| format!("read {name}"))?;
    let store = session.store();
    let (meta, written) = match store.head(&key).await {
        Ok(meta) => {
            check_same(&key, &meta, &sha256, name)?;
            let protected = if protect.is_empty() {
                meta
            } else {
                store.protect(&key, protect).await?
            };
            // The object may have been replaced since.
            check_same(&key, &protected, &sha256, name)?;
            (protected, false)
        }
        Err(StoreError::NotFound(_)) => {
            let put = Put {
                size: Some(size),
                sha256: Some(sha256),
                condition: Condition::Absent,
                protect,
                versioning: store.versioning(key.bucket()).await?,
                ..Put::default()
            };
            (write(session, &key, path, name, put, context).await?, true)
        }
        Err(error) => return Err(error).with_context(|| format!("store {name}")),
    };
    if written {
        read_back(&store, &key, &sha256).await?;
    }
    let address = format!("store://{key}");
    print_kept(&address, name, &meta, written, context)?;
    Ok(address)
}

/// Returns a name without the parts that are only meaningful on this machine: `../crawls/a.warc.gz`
/// becomes `crawls/a.warc.gz`.
fn object_name(name: &str) -> String {
    let parts = Path::new(name).components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_string_lossy()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("/")
}

fn digest(path: &Path) -> io::Result<([u8; 32], u64)> {
    let mut sha256 = Sha256::default();
    let size = io::copy(&mut File::open(path)?, &mut sha256)?;
    Ok((sha256.finish(), size))
}

fn check_same(key: &Key, meta: &Meta, sha256: &[u8; 32], name: &str) -> anyhow::Result<()> {
    if meta.digests.sha256 != *sha256 {
        bail!(
            "store://{key} already exists with other content than {name} (SHA-256 {} and {}) and was not \
             changed: load {name} under another name, or with another --keep-bucket",
            short(&meta.digests.sha256),
            short(sha256)
        );
    }
    Ok(())
}

fn short(sha256: &[u8]) -> String {
    let mut text = HEXLOWER.encode(&sha256[..6]);
    let _ = write!(text, "...");
    text
}

/// Writes the file. If it has changed since its digest was computed, the store rejects the whole
/// object.
async fn write(
    session: &Session,
    key: &Key,
    path: &Path,
    name: &str,
    put: Put,
    context: &Context,
) -> anyhow::Result<Meta> {
    let source = content::open_file(path)
        .await
        .with_context(|| format!("read {name}"))?;
    let bar = content::bar(name, put.size, context.json);
    let body = source.stream(bar.clone(), session.stop.clone());
    let result = session.store().put(key, body, put).await;
    bar.finish_and_clear();
    result.with_context(|| format!("store {name}"))
}

/// Reads the object as any client would, and compares its digest.
async fn read_back(store: &Store, key: &Key, sha256: &[u8; 32]) -> anyhow::Result<()> {
    let describe = || format!("read store://{key} back");
    let mut body = store.get(key, None).await.with_context(describe)?.body;
    let mut digest = Sha256::default();
    while let Some(piece) = body.next().await {
        digest.update(&piece.with_context(describe)?);
    }
    let found = digest.finish();
    if found != *sha256 {
        bail!(
            "store://{key} reads back with SHA-256 {}, expected {}",
            short(&found),
            short(sha256)
        );
    }
    Ok(())
}

fn print_kept(
    address: &str,
    name: &str,
    meta: &Meta,
    written: bool,
    context: &mut Context,
) -> anyhow::Result<()> {
    let protection = Protection::of(&meta.attributes);
    if context.json {
        context.out.json(&KeptInput {
            kept: address,
            input: name,
            size: meta.size,
            sha256: HEXLOWER.encode(&meta.digests.sha256),
            written,
            protection: ProtectionBody::of(protection),
        })?;
    } else {
        let word = if written { "kept" } else { "already kept" };
        let address = context.out.style.address(&clean(address));
        let protected = match protection.in_force(system::wall_ms()) {
            Some(protection) => format!(", {protection}"),
            None => String::new(),
        };
        writeln!(
            context.out,
            "{word}: {} -> {address}  {}{protected}",
            clean(name),
            bytes(meta.size)
        )?;
    }
    context.out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::object_name;

    #[test]
    fn names_of_objects() {
        for (name, expected) in [
            ("a.warc.gz", "a.warc.gz"),
            ("./crawls/a.warc.gz", "crawls/a.warc.gz"),
            ("../../crawls//a.warc.gz", "crawls/a.warc.gz"),
            ("/data/a.warc.gz", "data/a.warc.gz"),
            ("..", ""),
        ] {
            assert_eq!(object_name(name), expected);
        }
    }
}

//! Loads files of records into an archive, then searches it and lists the links to a URL.
//!
//!     cargo run -p examples --bin load_and_ask -- ARCHIVE_DIR QUERY URL FILE.warc.gz...

use std::path::Path;

use anyhow::{Context as _, bail};
use archive::question::{Inlinks, JobState, LoadRequest, SearchQuestion};
use archive::{Archive, OpenSettings};
use inputs::LoadInput;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, query, url, files @ ..] = &arguments[..] else {
        bail!("expected ARCHIVE_DIR QUERY URL FILE...");
    };
    let mut settings = OpenSettings::default();
    settings.create = true;
    let archive = Archive::open(Path::new(dir), settings)?;

    let mut request = LoadRequest::default();
    for file in files {
        let path = std::fs::canonicalize(file).with_context(|| file.clone())?;
        request.inputs.push(LoadInput {
            name: file.clone(),
            path: inputs::path_text(&path),
        });
    }
    // The callback sees the progress, and could stop the load.
    let (epoch, job) = archive.load(&request, &mut |_, _| true)?;
    if job.state != JobState::Done {
        bail!("the load ended as {:?}: {:?}", job.state, job.error);
    }
    println!("loaded\t{} captures\tepoch {epoch}", job.captures);

    let question = SearchQuestion {
        query: query.clone(),
        limit: 10,
        ..SearchQuestion::default()
    };
    for hit in archive.ask(question)?.body.hits {
        println!("found\t{}\t{}\t{}", hit.url, hit.title, hit.snippet.text());
    }
    let question = Inlinks {
        url: url.clone(),
        limit: 10,
        ..Inlinks::default()
    };
    for link in archive.ask(question)?.body.rows {
        println!("linked from\t{}\t{}", link.source_url, link.anchor);
    }
    Ok(())
}

//! Four questions over facts in a remote store: without a cache, with memory and disk, with disk
//! only, from local files, and from another engine (Spark) directly and through the gateway.
//!
//! The groups are those of Alluxio under Spark SQL at Momo. The store is `weft store serve` behind
//! a link of 100 MB/s with a round trip of 10 ms. Each question is asked four times. The table
//! shows the first time, and the mean of the last three.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use bench::s3::{ACCESS, SECRET, client, make_bucket};
use bench::sql_server::Server;
use bench::store_server::StoreServer;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStoreExt, PutPayload};

use crate::far_report::{Group, Run, print};
use crate::link::{Link, Shape};
use crate::spark::{self, Spark};

const SHAPE: Shape = Shape {
    bytes_per_s: 100e6,
    delay: Duration::from_millis(5),
};
/// Runs of each question; the first is reported separately.
const RUNS: usize = 4;
/// Memory for rows.
const MEMORY_BYTES: u64 = 4 << 30;
const BUCKET: &str = "far";
/// Concurrent puts, which bypass the link.
const PUTS: usize = 4;

/// From few rows of few columns to most rows of all columns.
pub(crate) const QUESTIONS: [(&str, &str); 4] = [
    (
        "narrow scan",
        "SELECT count(*), sum(warc_record_length), max(fetch_status) FROM captures",
    ),
    (
        "captures by domain",
        "SELECT url_host_registered_domain, count(*) AS n, count(DISTINCT url_surtkey) FROM captures \
         GROUP BY url_host_registered_domain ORDER BY n DESC, url_host_registered_domain LIMIT 10",
    ),
    (
        "wide scan of links",
        "SELECT kind, count(*), max(source_url), max(target_url), max(anchor), max(target_host_name) FROM links GROUP BY kind",
    ),
    (
        "wide join",
        "SELECT c.content_mime_type, count(*) AS n, max(c.title), max(l.target_url), max(l.anchor), max(c.content_digest) \
         FROM links l JOIN captures c ON l.input_id = c.input_id AND l.warc_record_offset = c.warc_record_offset \
         GROUP BY c.content_mime_type ORDER BY n DESC",
    ),
];

/// Parameters of the measurement.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Task {
    /// An archive with facts; created if it does not exist
    #[arg(long, value_name = "DIR")]
    archive: PathBuf,
    /// Pages of the archive that is created
    #[arg(long, value_name = "N", default_value_t = 300_000)]
    pages: u64,
    /// Memory of the cache in MiB: less than the size of the facts
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    memory_mib: u64,
    /// Folder for the store and the cache [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The program, with weft-sql next to it [default: next to this one]
    #[arg(long, value_name = "FILE", env = "WEFT")]
    weft: Option<PathBuf>,
    /// A Python with pyspark and delta-spark, for the fourth group, which is left out otherwise
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Ask only Spark
    #[arg(long, requires = "python")]
    spark_alone: bool,
}

/// Where facts are read from.
struct Place<'a> {
    weft: &'a Path,
    archive: &'a Path,
    link: &'a Link,
}

pub(crate) async fn measure(task: &Task) -> anyhow::Result<()> {
    let weft = bench::program::weft(task.weft.as_ref())?;
    let weft_sql = weft.with_file_name("weft-sql");
    ensure!(
        weft_sql.exists(),
        "{} is missing; build it with: make sql",
        weft_sql.display()
    );
    let temporary = tempfile::tempdir()?;
    let dir = task.dir.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    make_archive(task, &weft, &dir)?;
    let store_dir = dir.join("store");
    contest::empty(&store_dir)?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let store = StoreServer::start(&weft, &store_dir, port)?;
    let facts_bytes = upload(&task.archive.join("facts"), port).await?;
    let link = Link::open(([127, 0, 0, 1], port).into(), SHAPE).await?;
    println!(
        "facts of {} MB in a store 10 ms away, 100 MB/s; cache of {} MiB in memory; {RUNS} runs: the \
         first, and the mean of the others",
        facts_bytes / 1_000_000,
        task.memory_mib
    );
    let place = Place {
        weft: &weft,
        archive: &task.archive,
        link: &link,
    };
    let cache = dir.join("cache");
    if !task.spark_alone {
        let mut groups = vec![place.ask("local files", None, None)?];
        for (name, settings) in [
            ("no cache", "only_listed = true\n".to_owned()),
            ("memory and disk", with_disk(task.memory_mib, &cache)),
            ("disk only", with_disk(16, &cache)),
        ] {
            contest::empty(&cache)?;
            groups.push(place.ask(name, Some(&settings), Some(&cache))?);
        }
        print(&groups)?;
    }
    if let Some(python) = &task.python {
        contest::empty(&cache)?;
        let groups = place.ask_spark(python, &dir, &cache)?;
        print(&groups)?;
    }
    drop(store);
    fs::remove_dir_all(&store_dir)?;
    fs::remove_dir_all(&cache)?;
    Ok(())
}

fn with_disk(memory_mib: u64, cache: &Path) -> String {
    format!(
        "memory_size_bytes = \"{memory_mib} MiB\"\nmetadata_size_bytes = \"8 MiB\"\n[[directory]]\npath = {:?}\n",
        cache.display().to_string()
    )
}

impl Place<'_> {
    /// Starts `weft-sql` with these settings, asks every question, and stops it.
    fn ask(&self, name: &str, settings: Option<&str>, cache: Option<&Path>) -> anyhow::Result<Group> {
        let file = self.archive.join("cache.toml");
        match settings {
            Some(text) => fs::write(&file, text)?,
            None => ensure!(
                !file.exists(),
                "{} exists and is not from this benchmark: remove it",
                file.display()
            ),
        }
        let server = Server::start(
            &self.weft.with_file_name("weft-sql"),
            self.archive,
            MEMORY_BYTES,
            |command| {
                if settings.is_some() {
                    command.args(["--facts", &format!("s3://{BUCKET}/facts")]);
                    self.to_store(command);
                }
            },
        );
        if settings.is_some() {
            fs::remove_file(&file)?;
        }
        let server = server?;
        // A first statement, so that work unrelated to a question, such as reading the logs, is not
        // counted with the first one.
        server.count("SELECT count(*) FROM captures WHERE fetch_status < 0")?;
        let mut questions = Vec::new();
        for (_, statement) in QUESTIONS {
            let mut runs = Vec::new();
            for _ in 0..RUNS {
                let before = self.link.counted();
                let (took, rows) = server.rows(statement)?;
                ensure!(rows > 0, "no response to {statement}");
                runs.push(Run {
                    seconds: took.as_secs_f64(),
                    passed: self.link.counted().since(&before),
                });
            }
            questions.push(runs);
        }
        let disk_bytes = cache.map(contest::space_bytes).transpose()?;
        Ok(Group {
            name: name.to_owned(),
            questions,
            disk_bytes,
        })
    }

    fn to_store(&self, command: &mut Command) {
        command
            .env("AWS_ENDPOINT_URL", format!("http://{}", self.link.address))
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", ACCESS)
            .env("AWS_SECRET_ACCESS_KEY", SECRET);
    }

    /// Asks Spark, directly and through the gateway.
    fn ask_spark(&self, python: &Path, dir: &Path, cache: &Path) -> anyhow::Result<Vec<Group>> {
        let ask = |name: &str, endpoint: String| -> anyhow::Result<Group> {
            let mut spark = Spark::start(python, &endpoint, BUCKET)?;
            let mut questions = Vec::new();
            for (question, statement) in QUESTIONS {
                let mut runs = Vec::new();
                for _ in 0..RUNS {
                    let before = self.link.counted();
                    let seconds = spark.ask(statement)?;
                    // Progress, because this takes minutes.
                    eprintln!("Spark, {name}, {question}: {seconds:.2} s");
                    runs.push(Run {
                        seconds,
                        passed: self.link.counted().since(&before),
                    });
                }
                questions.push(runs);
            }
            Ok(Group {
                name: name.to_owned(),
                questions,
                disk_bytes: None,
            })
        };
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let gateway = spark::gateway(self.weft, dir, port, cache, |command| self.to_store(command))?;
        let through = ask("gateway", format!("http://127.0.0.1:{port}"))?;
        drop(gateway);
        let direct = ask("no cache", format!("http://{}", self.link.address))?;
        Ok(vec![direct, through])
    }
}

/// Creates an archive of a synthetic web with its facts, unless it exists.
fn make_archive(task: &Task, weft: &Path, dir: &Path) -> anyhow::Result<()> {
    if task.archive.exists() {
        return Ok(());
    }
    let web = dir.join("web.wat.gz");
    let run = |command: &mut Command| -> anyhow::Result<()> {
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        ensure!(status.success(), "{command:?}: {status}");
        Ok(())
    };
    run(Command::new(weft)
        .args(["synth", "--format", "wat", "--pages", &task.pages.to_string()])
        .arg(&web))?;
    run(Command::new(weft)
        .arg("load")
        .arg(&web)
        .arg("--archive")
        .arg(&task.archive))?;
    Ok(fs::remove_file(&web)?)
}

/// Uploads the tables to the store, bypassing the link. Returns their bytes.
async fn upload(facts: &Path, port: u16) -> anyhow::Result<u64> {
    let client = client(&format!("http://127.0.0.1:{port}"), BUCKET)?;
    make_bucket(&client).await?;
    let mut files = Vec::new();
    find(facts, &mut files)?;
    let client = &client;
    let puts = files.iter().map(|file| async move {
        let name = file.strip_prefix(facts)?.to_string_lossy().into_owned();
        let content = fs::read(file).with_context(|| format!("read {}", file.display()))?;
        let bytes = content.len() as u64;
        client
            .put(
                &ObjectPath::from(format!("facts/{name}")),
                PutPayload::from(content),
            )
            .await?;
        anyhow::Ok(bytes)
    });
    let bytes: Vec<u64> = stream::iter(puts).buffer_unordered(PUTS).try_collect().await?;
    Ok(bytes.iter().sum())
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?
        } else {
            files.push(path)
        }
    }
    Ok(())
}

//! The catalogue of files as tables, compared with a plain walk of the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use catalogue::{Copy, Digest, FileVersion, Format, LogBatch};
use sql::arrow::datatypes::SchemaRef;
use sql::{FileTable, QUESTIONS, QuerySettings, SqlError, TableInfo};

use crate::data::{Workspace, ask, ask_with, refused};

/// Creates a tree with all kinds of entries: hard links across directories, symbolic links, names
/// that are not UTF-8.
fn tree(place: &Workspace) -> PathBuf {
    let root = place
        .path("tree")
        .canonicalize()
        .unwrap_or_else(|_| place.path("tree"));
    for dir in ["a/b/c", "a b", "a!", "my_crawls/2026", "empty"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    let names: [&[u8]; 9] = [
        b"x.warc.gz",
        b"y.WAT",
        b"doc.pdf",
        b"caf\xe9 \xff.txt",
        b"looks like \\x41",
        "\u{e9}t\u{e9}".as_bytes(),
        b"it's 100%",
        b"under_score",
        b"-rf",
    ];
    for (n, dir) in ["", "a", "a/b", "a/b/c", "a b", "a!", "my_crawls/2026"]
        .iter()
        .enumerate()
    {
        for (m, name) in names.iter().enumerate() {
            if (n + m) % 3 == 2 {
                continue;
            }
            let path = root.join(dir).join(OsStr::from_bytes(name));
            fs::write(&path, vec![b'x'; n * 5000 + m * m * 37]).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode([0o644, 0o600, 0o4755][m % 3])).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(
                UNIX_EPOCH + Duration::from_micros(1_700_000_000_123_456 + (n * 77 + m) as u64),
            )
            .unwrap();
            // Without permission this fails, which does not affect the test.
            let _ = std::os::unix::fs::chown(&path, Some(3_999_000_000 + m as u32 % 2), None);
        }
    }
    fs::hard_link(root.join("a/doc.pdf"), root.join("a/b/c/second name")).unwrap();
    fs::hard_link(root.join("a/doc.pdf"), root.join("my_crawls/third.pdf")).unwrap();
    fs::hard_link(root.join("a!/y.WAT"), root.join("a!/z.WAT")).unwrap();
    symlink("a/b", root.join("link")).unwrap();
    symlink(OsStr::from_bytes(b"no\xffwhere"), root.join("a/dangling")).unwrap();
    root
}

/// Returns the entries that a plain walk finds at and below a directory.
fn walked(root: &Path) -> BTreeMap<PathBuf, Metadata> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.insert(path, metadata);
    }
    found
}

/// The columns of [`row`].
const COLUMNS: &str = "path, directory, name, type, format, size_bytes, disk_size_bytes, owner, group_name, uid, gid, mode, links, \
    modified::bigint, changed::bigint, case when type = 'file' then accessed::bigint end, created::bigint, target, inode";

/// Returns the expected row of `file_names`, from system calls.
fn row(path: &Path, metadata: &Metadata) -> String {
    let micros = |seconds: i64, ns: i64| (seconds * 1_000_000 + ns.div_euclid(1000)).to_string();
    let kind = metadata.file_type();
    let name = path.file_name().unwrap();
    let (is_file, is_link) = (kind.is_file(), kind.is_symlink());
    let format = if is_file {
        Format::of_name(name.as_bytes()).name()
    } else {
        "other"
    };
    let mut names = system::users::Names::default();
    let created = metadata
        .created()
        .ok()
        .map(|time| time.duration_since(UNIX_EPOCH).unwrap());
    [
        inputs::path_text(path),
        inputs::path_text(path.parent().unwrap()),
        inputs::path_text(Path::new(name)),
        match () {
            () if is_file => "file",
            () if is_link => "symlink",
            () => "directory",
        }
        .into(),
        format.into(),
        metadata.len().to_string(),
        (metadata.blocks() * 512).to_string(),
        names.user(metadata.uid()).into(),
        names.group(metadata.gid()).into(),
        metadata.uid().to_string(),
        metadata.gid().to_string(),
        format!("{:o}", metadata.mode() & 0o7777),
        metadata.nlink().to_string(),
        micros(metadata.mtime(), metadata.mtime_nsec()),
        micros(metadata.ctime(), metadata.ctime_nsec()),
        // Access times have a resolution of one second.
        if is_file {
            micros(metadata.atime(), 0)
        } else {
            String::new()
        },
        created
            .map(|time| time.as_micros().to_string())
            .unwrap_or_default(),
        if is_link {
            inputs::path_text(&fs::read_link(path).unwrap())
        } else {
            String::new()
        },
        metadata.ino().to_string(),
    ]
    .join("\t")
}

fn sorted(rows: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_unstable();
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_those_of_a_plain_walk() {
    let place = Workspace::small();
    let tree = tree(&place);
    place.scan(&tree);
    let database = place.database();
    let found = ask(&database, &format!("SELECT {COLUMNS} FROM file_names")).await;
    let walked = walked(&tree);
    let mut expected: Vec<String> = walked
        .iter()
        .map(|(path, metadata)| row(path, metadata))
        .collect();
    expected.sort_unstable();
    assert_eq!(sorted(&found), expected);
    // Paths that are not UTF-8 are shown with escaped bytes.
    assert!(
        found.contains("caf\\xe9 \\xff.txt") && found.contains("looks like \\x5cx41"),
        "{found}"
    );
    let count = ask(&database, "SELECT count(*) FROM file_names").await;
    assert_eq!(count, walked.len().to_string());
    let ids = ask(&database, "SELECT count(DISTINCT file_id) FROM file_names").await;
    let inodes: BTreeSet<u64> = walked.values().map(Metadata::ino).collect();
    assert_eq!(ids, inodes.len().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_with_several_names_are_listed_once_and_sums_are_over_them() {
    let place = Workspace::small();
    let tree = tree(&place);
    place.scan(&tree);
    let database = place.database();
    let found = ask(&database, &format!("SELECT {COLUMNS} FROM files")).await;
    let mut inodes = BTreeSet::new();
    let walked = walked(&tree);
    let names: BTreeSet<String> = walked
        .iter()
        .map(|(path, metadata)| row(path, metadata))
        .collect();
    for row in found.lines() {
        assert!(names.contains(row), "{row}");
        assert!(inodes.insert(row.rsplit('\t').next().unwrap()), "{row} twice");
    }
    let expected: BTreeSet<u64> = walked.values().map(Metadata::ino).collect();
    assert_eq!(inodes.len(), expected.len());
    assert!(names.len() > expected.len(), "the tree has no hard links");
    assert_eq!(
        ask(&database, "SELECT count(*) FROM files").await,
        expected.len().to_string()
    );

    let columns = "owner, group_name, uid, gid, type, format";
    let sums = ask(
        &database,
        &format!("SELECT {columns}, entries, size_bytes, disk_size_bytes FROM file_usage"),
    )
    .await;
    let summed = format!(
        "SELECT {columns}, count(*), sum(size_bytes), sum(disk_size_bytes) FROM files GROUP BY {columns}"
    );
    let summed = ask(&database, &summed).await;
    assert_eq!(sorted(&sums), sorted(&summed));
    assert!(sums.lines().count() > 5, "{sums}");
    let total = ask(&database, "SELECT sum(entries) FROM file_usage").await;
    assert_eq!(total, expected.len().to_string());
}

/// Conditions evaluated by the catalogue give the same as conditions evaluated on every row.
#[tokio::test(flavor = "multi_thread")]
async fn conditions_on_paths_give_what_they_give_without_help() {
    let place = Workspace::small();
    let tree = tree(&place);
    place.scan(&tree);
    // A second tree, whose path has that of the first as a prefix.
    let other = place.path("tree!");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("file"), b"1").unwrap();
    place.scan(&other);
    let database = place.database();
    let mut conditions = Vec::new();
    let paths: Vec<String> = walked(&tree).keys().map(|path| inputs::path_text(path)).collect();
    for (n, path) in paths.iter().enumerate() {
        let quoted = path.replace('\'', "''");
        let cut: String = path.chars().take(path.chars().count() - n % 5).collect();
        let cut = cut.replace('\'', "''");
        conditions.push(format!("COLUMN(path) = '{quoted}'"));
        conditions.push(format!("'{quoted}' = COLUMN(directory)"));
        conditions.push(format!("starts_with(COLUMN(path), '{cut}')"));
        if n % 3 == 0 {
            conditions.push(format!("COLUMN(path) LIKE '{quoted}/%'"));
            conditions.push(format!("COLUMN(path) LIKE '{cut}%a%'"));
            conditions.push(format!("COLUMN(directory) LIKE '{cut}%'"));
            conditions.push(format!(
                "COLUMN(directory) = '{quoted}' AND COLUMN(path) LIKE '%.%'"
            ));
            conditions.push(format!(
                "COLUMN(path) = '{quoted}' AND starts_with(COLUMN(path), '{cut}')"
            ));
            conditions.push(format!(
                "COLUMN(path) = '{quoted}' AND COLUMN(path) = '{}'",
                tree.display()
            ));
        }
    }
    let above = tree.parent().unwrap().display();
    for more in [
        format!("COLUMN(directory) = '{above}'"),
        format!("COLUMN(path) LIKE '{above}/%'"),
        format!("starts_with(COLUMN(path), '{above}/tree')"),
        format!("COLUMN(path) = '{above}/tree/'"),
        "COLUMN(path) LIKE '/%'".to_owned(),
        "COLUMN(path) LIKE '%'".to_owned(),
        "COLUMN(directory) = ''".to_owned(),
        "starts_with(COLUMN(path), '\\')".to_owned(),
    ] {
        conditions.push(more);
    }
    let mut given = 0;
    for (n, condition) in conditions.iter().enumerate() {
        let table = ["file_names", "files"][n % 2];
        let with = |column: &str| {
            // An expression that hides the column, so that every row is read and checked.
            let condition = condition
                .replace("COLUMN(path)", &column.replace("COLUMN", "path"))
                .replace("COLUMN(directory)", &column.replace("COLUMN", "directory"));
            format!("SELECT path, inode FROM {table} WHERE {condition}")
        };
        let helped = ask(&database, &with("COLUMN")).await;
        let alone = ask(&database, &with("concat(COLUMN, '')")).await;
        assert_eq!(sorted(&helped), sorted(&alone), "{}", with("COLUMN"));
        given += helped.lines().count();
    }
    assert!(
        given > conditions.len(),
        "{given} rows of {} conditions",
        conditions.len()
    );
}

/// The plan shows which conditions the catalogue evaluates, and that they are not evaluated again.
#[tokio::test(flavor = "multi_thread")]
async fn conditions_and_limits_reach_the_catalogue() {
    let place = Workspace::small();
    let tree = tree(&place);
    place.scan(&tree);
    let database = place.database();
    for (condition, said, is_all) in [
        (
            "path = '/a'",
            "file_names of the catalogue of files, path \"/a\"",
            true,
        ),
        ("directory = '/a'", ", directory \"/a\"", true),
        ("path LIKE '/a/%'", ", path begins with \"/a/\"", true),
        ("starts_with(path, '/a_b/')", ", path begins with \"/a_b/\"", true),
        ("path LIKE '/a_b/%'", ", path begins with \"/a\"", false),
        ("directory LIKE '/a/%'", ", path begins with \"/a/\"", false),
        ("path = '/\\xff'", ", path \"/\\xff\"", true),
    ] {
        let plan = ask(
            &database,
            &format!("EXPLAIN SELECT name FROM file_names WHERE {condition}"),
        )
        .await;
        let physical = plan.split("physical_plan").nth(1).unwrap();
        assert!(physical.contains(said), "{condition}: {plan}");
        assert_eq!(physical.contains("FilterExec"), !is_all, "{condition}: {plan}");
    }
    let plan = ask(&database, "EXPLAIN ANALYZE SELECT * FROM files LIMIT 3").await;
    assert!(
        plan.contains("at most 3 rows") && plan.contains("output_rows=3"),
        "{plan}"
    );
    let whole = ask(&database, "SELECT path, size_bytes, uid FROM file_names").await;
    for limit in [0, 1, 7, 100_000] {
        let first = ask(
            &database,
            &format!("SELECT uid, path FROM file_names LIMIT {limit}"),
        )
        .await;
        let expected: Vec<String> = whole
            .lines()
            .take(limit)
            .map(|line| line.split('\t').collect::<Vec<_>>())
            .map(|cells| format!("{}\t{}", cells[2], cells[0]))
            .collect();
        assert_eq!(first.lines().collect::<Vec<_>>(), expected);
    }
    assert_eq!(
        ask(
            &database,
            "SELECT count(*) FROM (SELECT 1 FROM file_usage LIMIT 2)"
        )
        .await,
        "2"
    );
}

/// Crawl files on disk that are not in the archive, and the number of captures of each file: the
/// statements of docs/sql.md.
#[tokio::test(flavor = "multi_thread")]
async fn files_on_disk_are_joined_with_what_was_loaded() {
    let place = Workspace::new();
    let crawls = place.path("crawls").join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir_all(&crawls).unwrap();
    let loaded = [
        crawls.join("a.warc.gz"),
        crawls.join(OsStr::from_bytes(b"\xfe.warc.gz")),
    ];
    for (seed, path) in (1..).zip(&loaded) {
        fs::rename(place.web(20, seed), path).unwrap();
    }
    fs::rename(place.web(20, 3), crawls.join("new.warc.gz")).unwrap();
    fs::write(crawls.join("notes.txt"), b"").unwrap();
    place.load_by_path(&place.own(), &loaded);
    place.scan(&place.path("crawls"));
    let database = place.database();
    let question = |title: &str| {
        let question = QUESTIONS.iter().find(|question| question.title == title);
        &question.unwrap_or_else(|| panic!("{title}")).statement
    };
    let missing = ask(&database, question("Unloaded crawl files")).await;
    let missing: Vec<&str> = missing
        .lines()
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert_eq!(missing, [inputs::path_text(&crawls.join("new.warc.gz"))]);
    let counted = ask(&database, question("Captures by crawl file")).await;
    let counted: BTreeMap<&str, &str> = counted
        .lines()
        .map(|line| {
            (
                line.split('\t').next().unwrap(),
                line.rsplit('\t').next().unwrap(),
            )
        })
        .collect();
    assert_eq!(counted.len(), 3, "{counted:?}");
    assert_eq!(counted[missing[0]], "0");
    for path in &loaded {
        let path = inputs::path_text(path);
        let captures = ask(
            &database,
            &format!("SELECT count(*) FROM captures WHERE warc_filename = '{path}'"),
        )
        .await;
        assert!(captures.parse::<u64>().unwrap() >= 20, "{captures}");
        assert_eq!(counted[&*path], captures, "{path}");
    }
    let space = ask(&database, question("Disk usage by owner and format")).await;
    assert!(space.contains("warc") && space.contains("text"), "{space}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_policies_know_of_contents_is_in_files() {
    let place = Workspace::small();
    let tree = tree(&place);
    place.scan(&tree);
    let seen = |name: &str| {
        let found = place.catalogue().locate(&tree.join(name)).unwrap().unwrap();
        FileVersion::of(&found.attributes)
    };
    let digest = |seen, copy| Digest {
        version: seen,
        sha256: [0xab; 32],
        verified_ms: 1_700_000_000_001,
        damaged_ms: None,
        copy,
    };
    let copy = Copy {
        address: "store://bucket/doc.pdf".to_owned(),
        replicas: 2,
        verified_ms: 1_700_000_000_002,
    };
    let mut damaged = digest(seen("a/x.warc.gz"), None);
    damaged.damaged_ms = Some(1_700_000_000_003);
    // The file has changed since.
    let mut stale = digest(seen("a b/x.warc.gz"), None);
    stale.version.size_bytes += 1;
    let digests = vec![digest(seen("a/doc.pdf"), Some(copy)), damaged, stale];
    place
        .catalogue()
        .write_log(&LogBatch {
            digests,
            ..LogBatch::default()
        })
        .unwrap();
    let database = place.database();
    let known = ask(
        &database,
        "SELECT name, digest, last_verified::bigint, damaged, damaged_since::bigint, copy_address, last_copied::bigint, replicas \
         FROM files WHERE digest IS NOT NULL ORDER BY damaged",
    )
    .await;
    let sha256 = "ab".repeat(32);
    let [whole, damaged] = *known.lines().collect::<Vec<_>>() else {
        panic!("{known}")
    };
    let (name, rest) = whole.split_once('\t').unwrap();
    // The first of its names, whichever that is.
    assert!(["doc.pdf", "second name", "third.pdf"].contains(&name), "{known}");
    assert_eq!(
        rest,
        format!("{sha256}\t1700000000001000\tfalse\t\tstore://bucket/doc.pdf\t1700000000002000\t2")
    );
    assert_eq!(
        damaged,
        format!("x.warc.gz\t{sha256}\t1700000000001000\ttrue\t1700000000003000\t\t\t0")
    );
    let unknown = ask(
        &database,
        "SELECT DISTINCT last_verified, damaged, damaged_since, copy_address, last_copied, replicas FROM files WHERE digest IS NULL",
    )
    .await;
    assert_eq!(unknown, "\tfalse\t\t\t\t0");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_catalogue_it_is_told_how_to_get_one() {
    let place = Workspace::small();
    let database = place.database();
    for table in FileTable::ALL.map(FileTable::name) {
        let error = refused(&database, &format!("SELECT * FROM {table}")).await;
        assert!(
            error
                .to_string()
                .contains("run `weft files scan DIR` to create one"),
            "{error}"
        );
        assert!(error.is_of_statement() && !error.is_in_use(), "{error:?}");
    }
    let names = |tables: Vec<(TableInfo, SchemaRef)>| -> Vec<&'static str> {
        tables.into_iter().map(|(table, _)| table.name).collect()
    };
    assert!(!names(database.tables().await.unwrap()).contains(&"files"));
    assert!(!ask(&database, "SHOW TABLES").await.contains("file_names"));
    // After a first scan the same database has the tables.
    place.scan(&tree(&place));
    assert!(names(database.tables().await.unwrap()).ends_with(&["files", "file_names", "file_usage"]));
    assert!(ask(&database, "SHOW TABLES").await.contains("file_usage"));
    assert_ne!(ask(&database, "SELECT count(*) FROM files").await, "0");
    // The disk has no epochs.
    let mut settings = QuerySettings::default();
    settings.at_epoch = Some(1);
    let error = ask_with(&database, "SELECT * FROM files", &settings)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("no older epochs") && error.is_of_statement(),
        "{error}"
    );
    assert!(
        !ask_with(&database, "SHOW TABLES", &settings)
            .await
            .unwrap()
            .1
            .contains("file_usage")
    );
}

/// Another process has the catalogue open: statements that need it wait and then fail with that
/// reason; others are unaffected.
#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_in_use_is_waited_for() {
    let place = Workspace::small();
    place.scan(&tree(&place));
    let database = place.database();
    let held = place.catalogue();
    let begun = Instant::now();
    for statement in [
        "SELECT count(*) FROM pages",
        "SHOW TABLES",
        "DESCRIBE files",
        "SHOW COLUMNS FROM file_usage",
    ] {
        ask(&database, statement).await;
    }
    assert!(!database.tables().await.unwrap().is_empty());
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let begun = Instant::now();
    let error = refused(&database, "SELECT * FROM file_usage").await;
    assert!(error.is_in_use() && !error.is_of_statement(), "{error:?}");
    assert!(error.to_string().contains("in use by another process"), "{error}");
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        drop(held);
    });
    assert_ne!(ask(&database, "SELECT count(*) FROM files").await, "0");
}

/// A statement keeps the catalogue open while it runs, shared with other statements, and no longer.
#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_is_closed_when_no_statement_reads_it() {
    let place = Workspace::small();
    place.scan(&tree(&place));
    let database = place.database();
    let is_free = || {
        let opened = catalogue::retry_while_in_use(Duration::from_secs(1), || {
            catalogue::Catalogue::open(
                &place.path("archive/files"),
                &catalogue::CatalogueSettings::default(),
            )
        });
        opened.is_ok()
    };
    let settings = QuerySettings::default();
    // Rows of a cross product that is never read to its end.
    let first = database
        .query(
            "SELECT a.path FROM file_names a, file_names b, file_names c",
            &settings,
        )
        .await
        .unwrap();
    assert_ne!(ask(&database, "SELECT count(*) FROM file_names").await, "0");
    drop(first);
    let begun = Instant::now();
    while !is_free() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it stays open");
    }
    for statement in [
        "SELECT count(*) FROM file_names",
        "SELECT * FROM files LIMIT 1",
        "SELECT * FROM file_usage",
        "EXPLAIN SELECT * FROM files",
        "SELECT count(*) FROM files a JOIN file_names b ON a.file_id = b.file_id",
    ] {
        ask(&database, statement).await;
        assert!(is_free(), "{statement}");
    }
    database
        .columns_of("SELECT * FROM files", &settings)
        .await
        .unwrap();
    assert!(is_free());
}

/// Opening the catalogue requires writing. If that fails, the system's error is reported.
#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_that_cannot_be_opened_is_an_error_that_names_it() {
    let place = Workspace::small();
    place.scan(&tree(&place));
    let lock = place.path("archive/files/lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let error = refused(&place.database(), "SELECT * FROM files").await;
    assert!(
        matches!(error, SqlError::Files(_)) && !error.is_in_use(),
        "{error:?}"
    );
    let said = error.to_string();
    assert!(
        said.contains("cannot open") && said.contains("archive/files"),
        "{said}"
    );
    assert_ne!(ask(&place.database(), "SELECT count(*) FROM pages").await, "0");
}

/// An archive opened read-only has its catalogue, too.
#[tokio::test(flavor = "multi_thread")]
async fn an_archive_opened_for_reading_has_its_catalogue() {
    let place = Workspace::small();
    place.scan(&tree(&place));
    let mut settings = sql::Settings::default();
    settings.read_only = true;
    let database = sql::Database::new(&place.path("archive"), &settings).unwrap();
    let whole = ask(&place.database(), "SELECT count(*) FROM file_names").await;
    assert_eq!(ask(&database, "SELECT count(*) FROM file_names").await, whole);
}

//! Unmodified clients from the package index: cdx_toolkit, waybackpy, wayback, a Memento client,
//! and pywb, which replays pages from Weft's index.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use server::ServerSettings;

use crate::field::field;
use crate::loaded::load;
use crate::port::{Running, exchange, with_replay};

/// Maximum time that pywb may take to start.
const START_TIME_MAX: Duration = Duration::from_secs(60);

fn python(modules: &[&str]) -> Option<PathBuf> {
    let python = test_env::python(modules);
    if python.is_none() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: there is no python3 with {} (make need-clients)",
            modules.join(", ")
        );
    }
    python
}

#[test]
fn cdx_toolkit_waybackpy_and_wayback() {
    let Some(python) = python(&["cdx_toolkit", "waybackpy", "wayback"]) else {
        return;
    };
    let running = Running::start_over(field().loaded.archive.clone(), ServerSettings::default());
    let home = tempfile::tempdir().expect("a folder");
    let mut script = test_env::command(python, home.path());
    script
        .arg(test_env::crate_dir().join("tests/clients/cdx.py"))
        // By default it waits three seconds before each request, to be polite to public servers.
        .env("CDXT_DEFAULT_MIN_RETRY_INTERVAL", "0")
        .env("CDXT_IA_MIN_RETRY_INTERVAL", "0");
    check_script(&mut script, &running);
}

/// Runs the script of a client, which fails if a result is wrong.
#[track_caller]
fn check_script(script: &mut Command, running: &Running) {
    let address = format!("http://{}", running.address);
    let output = script.arg(address).output().expect("python starts");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_memento_client() {
    let Some(python) = python(&["memento_client"]) else {
        return;
    };
    let running = Running::start_over(field().loaded.archive.clone(), with_replay());
    let home = tempfile::tempdir().expect("a folder");
    let mut script = test_env::command(python, home.path());
    script.arg(test_env::crate_dir().join("tests/clients/memento.py"));
    check_script(&mut script, &running);
}

/// A pywb server that uses our index, until dropped.
struct Pywb {
    child: Child,
    port: u16,
}

impl Pywb {
    /// Starts pywb with the one line that its manual gives for OutbackCDX, and the place of the
    /// files.
    fn start(python: &Path, home: &Path, index: &Running, files: &str) -> Pywb {
        let config = format!(
            "collections:\n  weft:\n    index_paths: cdx+http://{}/cdx\n    archive_paths: {files}/\n",
            index.address,
        );
        std::fs::write(home.join("config.yaml"), config).expect("written");
        let port = free_port();
        let child = test_env::command(python, home)
            .args(["-c", "from pywb.apps.cli import wayback; wayback()"])
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .current_dir(home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("pywb starts");
        let mut pywb = Pywb { child, port };
        pywb.wait();
        pywb
    }

    fn wait(&mut self) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.child.try_wait().expect("a child");
            assert!(
                ended.is_none() && begun.elapsed() < START_TIME_MAX,
                "pywb did not start: {ended:?}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn get(&self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port);
        exchange(SocketAddr::from(([127, 0, 0, 1], self.port)), request.as_bytes())
    }
}

impl Drop for Pywb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

#[test]
fn pywb_replays_pages_over_our_index() {
    check_pywb(|_| field().folder().display().to_string());
}

/// The crawl's files are on the machine of Weft, and pywb runs elsewhere.
#[test]
fn pywb_replays_pages_whose_records_weft_sends() {
    check_pywb(|running| format!("http://{}/record", running.address));
}

fn check_pywb(files: impl Fn(&Running) -> String) {
    let Some(python) = python(&["pywb.apps.cli"]) else {
        return;
    };
    let running = Running::start_over(field().loaded.archive.clone(), ServerSettings::default());
    let home = tempfile::tempdir().expect("a folder");
    let pywb = Pywb::start(&python, home.path(), &running, &files(&running));
    // The nearest of twelve captures is replayed, even if it is a later one. Links lead to the
    // archive.
    for (time, edition) in [
        ("20140126200624", 0),
        ("20140601000000", 1),
        ("20141001000000", 2),
        ("20141120000000", 3),
    ] {
        let page = pywb.get(&format!("/weft/{time}mp_/http://www.story.example/"));
        assert!(page.contains(&format!("Edition {edition}")), "{time}: {page}");
        assert!(page.contains("mp_/http://www.story.example/next"), "{page}");
    }
    assert!(
        pywb.get("/weft/2014mp_/http://www.story.example/next")
            .contains("The next page")
    );
    let absent = pywb.get("/weft/2014mp_/http://www.story.example/absent");
    assert!(
        absent.starts_with("HTTP/1.0 404") || absent.starts_with("HTTP/1.1 404"),
        "{absent}"
    );
    let listed = pywb.get("/weft/cdx?url=http://www.story.example/");
    assert_eq!(
        listed.matches("\"filename\": \"field.warc\"").count(),
        12,
        "{listed}"
    );
}

/// A real crawl with redirects, and revisits whose content is in another record.
#[test]
fn pywb_replays_real_crawls_over_our_index() {
    let (Some(python), Some(data)) = (python(&["pywb.apps.cli"]), test_env::shared_data()) else {
        return;
    };
    let crawls = data.join("crawls");
    let files = ["iana.warc.gz", "dupes.warc.gz"].map(|name| crawls.join(name));
    let loaded = load(&files, None);
    let running = Running::start_over(loaded.archive.clone(), ServerSettings::default());
    let home = tempfile::tempdir().expect("a folder");
    let pywb = Pywb::start(&python, home.path(), &running, &crawls.display().to_string());
    for (path, words) in [
        (
            "20140126200624mp_/http://www.iana.org/",
            "Internet Assigned Numbers Authority",
        ),
        ("2014mp_/http://www.iana.org/about", "IANA"),
        ("20140127171200mp_/http://example.com/", "Example Domain"),
        ("20140127171251mp_/http://example.com/", "Example Domain"),
    ] {
        let page = pywb.get(&format!("/weft/{path}"));
        assert!(page.contains(words), "{path}: {page}");
    }
}

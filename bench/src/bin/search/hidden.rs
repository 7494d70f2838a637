//! Rules that hide a share of the pages from the public, which the clients belong to.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::server::Server;

/// Number of domains per request.
const DOMAINS: usize = 1000;

/// Rules that hide some domains from everyone except `owner`.
pub(crate) struct Hidden {
    path: PathBuf,
    domains: Vec<String>,
    /// Fraction of the pages that are visible.
    pub(crate) seen: f64,
}

impl Hidden {
    /// Chooses domains, by name, that have the share of the pages to hide. The server must not have
    /// rules yet.
    pub(crate) fn choose(server: &Server, path: PathBuf, seen: f64) -> anyhow::Result<Hidden> {
        let mut all: Vec<(String, u64)> = Vec::new();
        let mut after = String::new();
        loop {
            let answer = server.get(&format!("/api/v1/domains?limit={DOMAINS}{after}"))?;
            for row in answer["rows"].as_array().context("domains")? {
                let domain = row["domain"].as_str().context("a row has no domain")?;
                all.push((domain.to_owned(), row["pages"].as_u64().unwrap_or_default()));
            }
            match answer["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        let pages: u64 = all.iter().map(|(_, pages)| pages).sum();
        let (mut hidden, mut domains) = (0, Vec::new());
        for (domain, pages_of) in all {
            if (hidden + pages_of) as f64 <= pages as f64 * (1.0 - seen) {
                hidden += pages_of;
                domains.push(domain);
            }
        }
        ensure!(hidden > 0, "no domain is small enough to hide");
        Ok(Hidden {
            path,
            domains,
            seen: 1.0 - hidden as f64 / pages as f64,
        })
    }

    /// Writes the rules. `more` hides another domain, which does not exist, so that the rules
    /// differ but hide the same pages.
    pub(crate) fn write(&self, strict: bool, more: Option<u64>) -> anyhow::Result<()> {
        let mut text = format!("strict = {strict}\n");
        for domain in &self.domains {
            text += &format!("[[rule]]\naccess = \"deny\"\nexcept = [\"owner\"]\ndomain = \"{domain}\"\n");
        }
        if let Some(number) = more {
            text += &format!(
                "[[rule]]\naccess = \"deny\"\nexcept = [\"owner\"]\ndomain = \"nobody{number}.example\"\n"
            );
        }
        let aside = self.path.with_extension("aside");
        std::fs::write(&aside, text).context("write rules")?;
        std::fs::rename(&aside, &self.path).context("move the rules into place")
    }

    /// Changes a rule every second, until the returned value is dropped.
    pub(crate) fn change(self: &Arc<Hidden>, strict: bool) -> Changing {
        let stop = Arc::new(AtomicBool::new(false));
        let (hidden, stopped) = (Arc::clone(self), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for number in 0.. {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                if let Err(error) = hidden.write(strict, Some(number)) {
                    eprintln!("cannot change a rule: {error:#}");
                }
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        Changing {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A thread that changes the rules.
pub(crate) struct Changing {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Changing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! A proxy in front of a node, which a test can close to some callers.
//!
//! A connection belongs to one process, which names itself in the head of its first request.

use std::collections::BTreeSet;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Longest head; a head has some hundred bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// A proxy in front of one node.
pub(crate) struct Proxy {
    /// The address that it listens on.
    pub(crate) address: String,
    refused: watch::Sender<BTreeSet<String>>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy that forwards to this address.
    pub(crate) async fn start(to: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (refused, rule) = watch::channel(BTreeSet::new());
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, to.clone(), rule.clone()));
            }
        });
        Self {
            address,
            refused,
            accepting,
        }
    }

    /// Closes the connections of a caller, and refuses new ones.
    pub(crate) fn refuse(&self, caller: &str) {
        self.refused.send_modify(|refused| {
            refused.insert(caller.to_owned());
        });
    }

    /// Allows all callers again.
    pub(crate) fn allow_all(&self) {
        self.refused.send_modify(BTreeSet::clear);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut from: TcpStream, to: String, mut rule: watch::Receiver<BTreeSet<String>>) {
    let Some((caller, head)) = head(&mut from).await else {
        return;
    };
    let pass = async {
        let mut to = TcpStream::connect(to).await?;
        let _ = (from.set_nodelay(true), to.set_nodelay(true));
        to.write_all(&head).await?;
        copy_bidirectional(&mut from, &mut to).await
    };
    tokio::select! {
        biased;
        _ = rule.wait_for(|refused| refused.contains(&caller)) => {}
        _ = pass => {}
    }
}

/// Returns the caller's name, and the bytes read to find it.
async fn head(from: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while head.len() < HEAD_BYTES_MAX {
        if from.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&head);
        if let Some((lines, _)) = text.split_once("\r\n\r\n") {
            let caller = lines.lines().find_map(|line| line.strip_prefix("weft-caller: "));
            return Some((caller.unwrap_or_default().to_owned(), head));
        }
    }
    None
}

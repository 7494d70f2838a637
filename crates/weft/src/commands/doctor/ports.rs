//! Checks whether `weft serve` can listen at its address, or already does.

#![expect(
    clippy::disallowed_methods,
    reason = "the port is only probed, and its owner is asked for one short answer"
)]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::finding::Finding;

/// Time limit for an answer from a server on the port.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// Limit on bytes read of a possible API description.
const DESCRIPTION_BYTES_MAX: u64 = 4 << 20;

/// Returns findings about the port of pages and API, and the replay port after it.
pub(super) fn findings(listen: SocketAddr) -> Vec<Finding> {
    let mut findings = vec![pages(listen)];
    // Replay uses any free port if the next one is taken, so that is not a problem.
    if let Some(port) = listen.port().checked_add(1).filter(|_| listen.port() != 0) {
        let replay = SocketAddr::new(listen.ip(), port);
        findings.push(match TcpListener::bind(replay) {
            Ok(_) => Finding::ok("replay port", format!("{replay} is free")),
            Err(error) => Finding::ok(
                "replay port",
                format!("{replay}: {error}; weft serve uses another port, or the one of --replay-listen"),
            ),
        });
    }
    findings
}

fn pages(listen: SocketAddr) -> Finding {
    let of = "port";
    let error = match TcpListener::bind(listen) {
        Ok(_) => return Finding::ok(of, format!("{listen} is free")),
        Err(error) => error,
    };
    match error.kind() {
        io::ErrorKind::AddrInUse if is_weft(listen) => Finding::ok(of, format!("weft serves at {listen}")),
        io::ErrorKind::AddrInUse => Finding::warning(
            of,
            format!("another program listens at {listen}"),
            "choose another port with weft serve --listen HOST:PORT",
        ),
        io::ErrorKind::PermissionDenied => Finding::problem(
            of,
            format!("{listen}: {error}"),
            "ports below 1,024 are privileged: use a higher one behind a proxy, or \
             AmbientCapabilities=CAP_NET_BIND_SERVICE in the systemd unit",
        ),
        _ => Finding::problem(
            of,
            format!("{listen}: {error}"),
            "--listen must name an address of this machine",
        ),
    }
}

/// Returns whether `weft serve` answers there. The API description is public regardless of access
/// rules.
fn is_weft(listen: SocketAddr) -> bool {
    let answered = || -> io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&listen, ANSWER_MAX)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        stream.set_write_timeout(Some(ANSWER_MAX))?;
        stream.write_all(b"GET /api/v1/openapi.json HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.take(DESCRIPTION_BYTES_MAX).read_to_string(&mut answer)?;
        Ok(answer)
    };
    answered().is_ok_and(|answer| answer.contains("\"Weft\""))
}

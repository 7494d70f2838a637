//! Finds the user of this machine at the other end of a loopback connection.
//!
//! Linux lists the TCP sockets of the machine with the user of each, in `/proc/net/tcp` and
//! `/proc/net/tcp6`. Without such a list, and for connections from other machines, the user is
//! unknown.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The lists of sockets, for IPv4 and IPv6.
const LISTS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// State of an open connection in the list (`TCP_ESTABLISHED`).
const ESTABLISHED: &str = "01";

/// Returns the user id of the process at `peer`, for its connection to `local`.
pub(crate) fn user_of(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    if !peer.ip().to_canonical().is_loopback() {
        return None;
    }
    let of_list = |list: &&str| user_in(&std::fs::read_to_string(list).ok()?, peer, local);
    LISTS.iter().find_map(of_list)
}

fn user_in(list: &str, peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    let of_line = |line: &str| {
        // sl local_address rem_address st queues tr:when retrnsmt uid timeout inode
        let fields: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
        let &[_, from, to, state, _, _, _, uid, _, inode] = fields.as_slice() else {
            return None;
        };
        // Sockets without a process are listed as root's, with no inode.
        let is_held = state == ESTABLISHED && inode != "0";
        let is_it = is_held && address(from)? == canonical(peer) && address(to)? == canonical(local);
        is_it.then(|| uid.parse().ok()).flatten()
    };
    list.lines().find_map(of_line)
}

fn canonical(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// Parses an address of the list: words of four bytes in hexadecimal, each in the machine's byte
/// order, and the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn the_user_of_a_connection_over_loopback_is_found() {
        let ours = std::fs::metadata("/proc/self").unwrap().uid();
        for local in ["127.0.0.1:0", "[::1]:0"] {
            // A machine may have no IPv6.
            let Ok(listener) = TcpListener::bind(local) else {
                continue;
            };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, peer) = listener.accept().unwrap();
            assert_eq!(user_of(peer, server.local_addr().unwrap()), Some(ours));
            drop(client);
            assert_eq!(
                user_of(peer, server.local_addr().unwrap()),
                None,
                "the connection is closed"
            );
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn only_an_open_socket_that_a_process_holds_names_its_user() {
        let (peer, local) = (
            "127.0.0.1:5000".parse().unwrap(),
            "127.0.0.1:8080".parse().unwrap(),
        );
        let line = |from: &str, to: &str, state: &str, uid: u32, inode: u32| {
            format!(
                "   0: {from} {to} {state} 00000000:00000000 00:00000000 00000000 {uid:5}        0 {inode} 1 x"
            )
        };
        let check = |lines: &[String], expected| {
            assert_eq!(user_in(&lines.join("\n"), peer, local), expected, "{lines:?}");
        };
        let (from, to) = ("0100007F:1388", "0100007F:1F90");
        check(&[line(from, to, "01", 1000, 7)], Some(1000));
        // Our own end of it.
        check(&[line(to, from, "01", 0, 7)], None);
        // The same port of the client, to another server.
        check(&[line(from, "0100007F:1F91", "01", 0, 7)], None);
        // Closed by its process.
        check(&[line(from, to, "06", 0, 0)], None);
        check(&[line(from, to, "01", 0, 0)], None);
        let mapped = "0000000000000000FFFF00000100007F";
        check(
            &[line(
                &format!("{mapped}:1388"),
                &format!("{mapped}:1F90"),
                "01",
                5,
                7,
            )],
            Some(5),
        );
        check(&["junk".to_owned(), String::new()], None);
    }
}

//! Connection limits: strangers must not lock out clients with keys.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use s3::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::sign::{Ask, next_answer};
use crate::support::Rig;

/// Opens a connection from a different address of this machine.
async fn connect(from: u8, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::new(127, 0, 1, from), 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

/// Reports whether a connection is accepted: sends an unsigned request and waits for a response.
async fn is_let_in(stream: &mut TcpStream) -> bool {
    let sent = stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    sent.is_ok() && next_answer(stream).await.status == 403
}

fn limits() -> Limits {
    Limits {
        connections_max: 12,
        per_address_max: 4,
        reserve: 4,
        stranger_time_max: Duration::from_secs(600),
        ..Limits::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_does_not_hold_all_connections() {
    let rig = Rig::start_with(limits(), None).await;
    let address = rig.server.address();
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut stream = connect(1, address).await;
        assert!(is_let_in(&mut stream).await);
        held.push(stream);
    }
    assert!(
        !is_let_in(&mut connect(1, address).await).await,
        "the fifth of one address"
    );
    assert!(is_let_in(&mut connect(2, address).await).await);
    rig.stop().await;
}

/// Idle strangers from many addresses hold all connections available to strangers. A client that
/// has signed before can still connect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_signed_gets_in_beside_idle_strangers() {
    let rig = Rig::start_with(limits(), None).await;
    let address = rig.server.address();
    let signed = Ask::new("GET", "/").by_header(address).0;
    let mut friend = connect(9, address).await;
    friend.write_all(&signed).await.unwrap();
    assert_eq!(next_answer(&mut friend).await.status, 200);
    let mut held = Vec::new();
    for from in [1, 2] {
        for _ in 0..4 {
            let mut stream = connect(from, address).await;
            assert!(is_let_in(&mut stream).await);
            held.push(stream);
        }
    }
    assert!(
        !is_let_in(&mut connect(3, address).await).await,
        "the reserve is not for strangers"
    );
    let mut again = connect(9, address).await;
    again.write_all(&signed).await.unwrap();
    assert_eq!(next_answer(&mut again).await.status, 200);
    rig.stop().await;
}

/// A stranger's connection is cut earlier than that of a client that has signed, both before its
/// first request and between requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_stranger_is_cut() {
    let limits = Limits {
        stranger_time_max: Duration::from_millis(200),
        ..limits()
    };
    let rig = Rig::start_with(limits, None).await;
    let address = rig.server.address();
    let mut friend = connect(9, address).await;
    let signed = Ask::new("GET", "/").by_header(address).0;
    friend.write_all(&signed).await.unwrap();
    assert_eq!(next_answer(&mut friend).await.status, 200);
    let mut silent = connect(1, address).await;
    let mut slow = connect(2, address).await;
    slow.write_all(b"GET / HTTP/1.1\r\nHo").await.unwrap();
    let mut asking = connect(3, address).await;
    assert!(is_let_in(&mut asking).await);
    for stream in [&mut silent, &mut slow, &mut asking] {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert_eq!(rest, b"", "nothing more is said");
    }
    friend.write_all(&signed).await.unwrap();
    assert_eq!(next_answer(&mut friend).await.status, 200, "who has signed stays");
    rig.stop().await;
}

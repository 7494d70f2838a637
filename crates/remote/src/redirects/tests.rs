//! A test network: 127.0.0.2 and `far.test`, which resolves to it, are public; 127.0.0.1 and
//! `near.test` are not.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;

use super::*;
use crate::failure::with_causes;

const FAR: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const NEAR: Ipv4Addr = Ipv4Addr::LOCALHOST;

fn network() -> Network {
    Network {
        is_public: |ip| ip == IpAddr::V4(FAR),
        lookup: |name| {
            let ip = match &*name {
                "far.test" => FAR,
                _ => NEAR,
            };
            async move { Ok(vec![SocketAddr::from((ip, 0))]) }.boxed()
        },
    }
}

/// A server that redirects each path with a target and answers others with 200. It records its
/// requests.
struct Server {
    at: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(ip: Ipv4Addr, leads: impl Fn(&str) -> Option<String> + Send + 'static) -> Server {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let (at, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::default()));
        let server = Server {
            at,
            asked: Arc::clone(&asked),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let head = head_of(&stream);
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                asked.lock().unwrap().push(head);
                let answer = match leads(&path) {
                    Some(to) => format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\n"),
                    None => "HTTP/1.1 200 OK\r\n".to_owned(),
                };
                let _ = (&stream)
                    .write_all(format!("{answer}Content-Length: 0\r\nConnection: close\r\n\r\n").as_bytes());
            }
        });
        server
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn head_of(stream: &TcpStream) -> String {
    let mut lines = BufReader::new(stream).lines();
    let mut head = String::new();
    while let Some(Ok(line)) = lines
        .next()
        .filter(|line| line.as_ref().is_ok_and(|line| !line.is_empty()))
    {
        head.push_str(&line);
        head.push('\n');
    }
    head
}

fn get(url: &str, headers: &[(&str, &str)]) -> Result<u16, String> {
    let client = Connector {
        network: network(),
        ..Connector::new(true)
    };
    let mut request = Request::builder().uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(HttpRequestBody::empty()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let answer = runtime.block_on(async { client.client().unwrap().execute(request).await });
    answer
        .map(|answer| answer.status().as_u16())
        .map_err(|error| with_causes(&error))
}

#[test]
fn a_public_server_leads_to_public_addresses_alone() {
    let near = Server::start(NEAR, |_| None);
    let (port, name) = (near.at.port(), near.at);
    let far = Server::start(FAR, move |path| match path {
        "/literal" => Some(format!("http://{name}/private")),
        "/name" => Some(format!("http://near.test:{port}/private")),
        "/mapped" => Some(format!("http://[::ffff:127.0.0.1]:{port}/private")),
        "/number" => Some(format!("http://2130706433:{port}/private")),
        "/twice" => Some("/name".to_owned()),
        "/own" => Some("/plain".to_owned()),
        _ => None,
    });
    for path in ["literal", "name", "mapped", "number", "twice"] {
        let refused = get(&format!("http://{}/{path}", far.at), &[]).unwrap_err();
        assert!(
            refused.contains("no address of the public network"),
            "{path}: {refused}"
        );
    }
    assert_eq!(near.asked(), Vec::<String>::new());
    assert_eq!(get(&format!("http://{}/own", far.at), &[]), Ok(200));
}

#[test]
fn a_private_server_leads_to_itself_and_to_public_ones() {
    let (far, other) = (Server::start(FAR, |_| None), Server::start(NEAR, |_| None));
    let (to, beside) = (far.at, other.at);
    let near = Server::start(NEAR, move |path| match path {
        "/own" => Some("/plain".to_owned()),
        "/far" => Some(format!("http://{to}/plain")),
        "/beside" => Some(format!("http://{beside}/plain")),
        "/named" => Some(format!("http://near.test:{}/plain", beside.port())),
        _ => None,
    });
    for path in ["own", "far"] {
        assert_eq!(get(&format!("http://{}/{path}", near.at), &[]), Ok(200), "{path}");
    }
    for path in ["beside", "named"] {
        let refused = get(&format!("http://{}/{path}", near.at), &[]).unwrap_err();
        assert!(
            refused.contains("no address of the public network"),
            "{path}: {refused}"
        );
    }
    assert_eq!(other.asked(), Vec::<String>::new());
}

#[test]
fn nothing_leads_on_without_end() {
    let near = Server::start(NEAR, |_| Some("/again".to_owned()));
    let refused = get(&format!("http://{}/", near.at), &[]).unwrap_err();
    assert!(refused.contains("more than 10 times"), "{refused}");
}

#[test]
fn credentials_stay_with_their_server() {
    let other = Server::start(FAR, |_| None);
    let to = other.at;
    let first = Server::start(NEAR, move |path| match path {
        "/own" => Some("/plain".to_owned()),
        "/other" => Some(format!("http://user:secret@{to}/plain")),
        _ => None,
    });
    let signed = [
        ("authorization", "AWS4-HMAC-SHA256 Credential=AK"),
        ("x-amz-security-token", "TOKEN"),
        ("cookie", "a=b"),
        ("range", "bytes=0-0"),
    ];
    assert_eq!(get(&format!("http://{}/own", first.at), &signed), Ok(200));
    let asked = first.asked();
    assert!(
        asked.len() == 2
            && asked
                .iter()
                .all(|head| head.contains("TOKEN") && head.contains("AK")),
        "{asked:?}"
    );
    assert_eq!(get(&format!("http://{}/other", first.at), &signed), Ok(200));
    let asked = other.asked().concat();
    assert!(asked.contains("bytes=0-0"), "{asked}");
    for secret in ["authorization", "x-amz", "cookie", "secret"] {
        assert!(!asked.to_ascii_lowercase().contains(secret), "{secret}: {asked}");
    }
}

#[test]
fn addresses_that_are_not_public() {
    for inside in [
        "127.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "192.0.0.192",
        "198.18.0.1",
        "168.63.129.16",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2001::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!is_public(inside.parse().unwrap()), "{inside}");
    }
    for public in [
        "1.1.1.1",
        "100.63.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "2606:4700::1",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",
    ] {
        assert!(is_public(public.parse().unwrap()), "{public}");
    }
}

//! Tests over TLS, with a certificate made for these tests and valid for a hundred years.

use std::sync::Arc;

use s3::{Limits, ServeError, Settings, TlsFiles};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::support::Rig;

fn files() -> TlsFiles {
    let dir = test_env::crate_dir().join("tests/tls");
    TlsFiles {
        certificates: dir.join("certificate.pem"),
        key: dir.join("key.pem"),
    }
}

fn connector() -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(files().certificates).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_come_over_tls_and_not_without() {
    let rig = Rig::start_with(Limits::default(), Some(files())).await;
    let stream = TcpStream::connect(rig.server.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = connector().connect(name, stream).await.unwrap();
    let request = b"GET /data/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(
        answer.starts_with("HTTP/1.1 403") && answer.contains("AccessDenied"),
        "{answer}"
    );
    let plain = crate::bytes::request("GET", &format!("{}/data/x", rig.endpoint()), b"").await;
    assert_eq!(plain.status, 0, "{}", plain.text());
    rig.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_certificate_is_named() {
    let rig = Rig::start().await;
    let listen = "127.0.0.1:0".parse().unwrap();
    let settings = Settings {
        tls: Some(TlsFiles {
            certificates: rig.dir().join("none.pem"),
            ..files()
        }),
        ..Settings::new(listen, rig.dir().join("keys.toml"))
    };
    let error = s3::serve(settings, rig.store.clone()).await.err().unwrap();
    assert!(
        matches!(&error, ServeError::Tls(_)) && error.to_string().contains("none.pem"),
        "{error}"
    );
    rig.stop().await;
}

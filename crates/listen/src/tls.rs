//! TLS: which connections use it, its handshake, and certificates from files.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection};

/// First byte of a TLS connection: the content type of a handshake record (RFC 8446, 5.1). No HTTP
/// method begins with it.
const HANDSHAKE: u8 = 0x16;

/// Bytes that are read from a socket at a time below TLS. TLS asks for 4 KB, a quarter of a record,
/// and each would be a system call. More would take memory for every connection.
pub const TLS_READ_BYTES: usize = 32 * 1024;

/// Which connections use TLS.
#[derive(Clone)]
pub enum Security {
    /// No connection uses TLS.
    Plain,
    /// Every connection uses TLS.
    Tls(Arc<ServerConfig>),
    /// A connection uses TLS if its first byte is that of a handshake. An attacker between client
    /// and server can prevent TLS here, so use this only while clients are migrated.
    Both(Arc<ServerConfig>),
}

/// Parameters that client and server negotiated, with the names of rustls: `TLSv1.3`,
/// `TLS13_AES_128_GCM_SHA256`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSession {
    /// Version of TLS.
    pub version: String,
    /// Cipher suite.
    pub cipher: String,
}

/// A connection, whether it uses TLS or not.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Duplex for S {}

impl Security {
    /// Uses TLS with a certificate chain and its private key.
    ///
    /// # Errors
    /// Fails if a file cannot be read or contains no matching PEM, or if certificate and key do not
    /// belong together.
    pub fn of_files(files: &TlsFiles) -> Result<Security, TlsError> {
        let wrong = |path: &PathBuf, detail: String| TlsError::File {
            path: path.clone(),
            detail,
        };
        let certificates = CertificateDer::pem_file_iter(&files.certificates)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong(&files.certificates, error.to_string()))?;
        let key =
            PrivateKeyDer::from_pem_file(&files.key).map_err(|error| wrong(&files.key, error.to_string()))?;
        let pair = |source| TlsError::Pair {
            certificates: files.certificates.clone(),
            key: files.key.clone(),
            source,
        };
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(pair)?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(pair)?;
        // Only HTTP/1.1 is served, so HTTP/2 must not be offered.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Security::Tls(Arc::new(config)))
    }

    /// Does the handshake, within `time_max`. `over` wraps the socket first.
    pub(crate) async fn enter<S: Duplex + 'static>(
        &self,
        stream: TcpStream,
        over: impl FnOnce(TcpStream) -> S,
        time_max: Duration,
    ) -> io::Result<(Box<dyn Duplex>, Option<TlsSession>)> {
        let config = match self {
            Security::Plain => None,
            Security::Tls(config) => Some(config),
            Security::Both(config) => in_time(time_max, begins_with_handshake(&stream))
                .await?
                .then_some(config),
        };
        let stream = over(stream);
        let Some(config) = config else {
            return Ok((Box::new(stream), None));
        };
        let acceptor = TlsAcceptor::from(Arc::clone(config));
        let stream = BufReader::with_capacity(TLS_READ_BYTES, stream);
        let stream = in_time(time_max, acceptor.accept(stream)).await?;
        let agreed = TlsSession::of(stream.get_ref().1);
        Ok((Box::new(stream), Some(agreed)))
    }
}

impl TlsSession {
    /// Returns the negotiated parameters. Must be called after the handshake, because they are not
    /// known before.
    fn of(connection: &ServerConnection) -> TlsSession {
        let version = connection.protocol_version();
        let cipher = connection.negotiated_cipher_suite();
        TlsSession {
            version: version.map_or_else(String::new, |version| format!("{version:?}").replace('_', ".")),
            cipher: cipher.map_or_else(String::new, |cipher| format!("{:?}", cipher.suite())),
        }
    }
}

async fn begins_with_handshake(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    // `peek` leaves the byte in the socket for the next reader, TLS or HTTP.
    stream.peek(&mut first).await?;
    Ok(first == [HANDSHAKE])
}

async fn in_time<T>(time_max: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let late = || io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake timed out");
    timeout(time_max, work).await.unwrap_or_else(|_| Err(late()))
}

/// The files that TLS needs.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// Certificate chain, PEM.
    pub certificates: PathBuf,
    /// Private key, PEM.
    pub key: PathBuf,
}

/// Reasons why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or contains no matching PEM.
    #[error("cannot read {path}: {detail}")]
    File {
        /// The file.
        path: PathBuf,
        /// Description of the failure.
        detail: String,
    },
    /// Certificate and key do not belong together.
    #[error("cannot use certificate {certificates} with key {key}: {source}")]
    Pair {
        /// File of the certificates.
        certificates: PathBuf,
        /// File of the key.
        key: PathBuf,
        /// Cause of the failure.
        source: tokio_rustls::rustls::Error,
    },
}

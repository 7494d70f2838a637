//! TLS between nodes, without certificates: both sides prove that they know a key derived from the
//! cluster's secret.
//!
//! The key is Ed25519, its seed HMAC-SHA256 under the secret over [`KEY_OF`]. It travels as a raw
//! public key (RFC 7250) in TLS 1.3. Keys are not issued, renewed or expired: every process with
//! the secret has the key.
//!
//! Invariants:
//!  - a connection is used only once both sides have proved the key: a stranger learns only that it
//!    was refused, and cannot answer in place of a node;
//!  - each connection has its own session keys: an attacker who learns the secret later cannot read
//!    traffic recorded before.

use std::fmt;
use std::sync::Arc;

use hmac::Mac as _;
use tokio_rustls::rustls::client::AlwaysResolvesClientRawPublicKeys;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key,
};
use tokio_rustls::rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use tokio_rustls::rustls::server::AlwaysResolvesServerRawPublicKeys;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};

use crate::Secret;

/// The text from which the seed of the key is derived. No signed request has this text, because
/// those begin with a method.
const KEY_OF: &str = "weft: key of nodes, 1";

/// The bytes before the seed in a PKCS #8 file of an Ed25519 key (RFC 8410, 7).
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20,
];

/// Both sides' TLS settings for connections between processes that know a secret.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) client: ClientConfig,
}

impl Keys {
    /// Derives the keys from a secret.
    ///
    /// # Errors
    /// Fails if the cryptography library refuses the key or TLS 1.3.
    pub(crate) fn of(secret: &Secret) -> Result<Self, Error> {
        let provider = Arc::new(ring::default_provider());
        let key = Arc::new(certified(secret)?);
        let same = Arc::new(SameKey {
            key: key.cert.first().cloned().ok_or(Error::NoCertificatesPresented)?,
            algorithms: provider.signature_verification_algorithms,
        });
        Ok(Self {
            server: Arc::new(server(provider.clone(), same.clone(), key.clone())?),
            client: client(provider, same, key)?,
        })
    }
}

fn server(
    provider: Arc<CryptoProvider>,
    same: Arc<SameKey>,
    key: Arc<CertifiedKey>,
) -> Result<ServerConfig, Error> {
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(same)
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(key)));
    Ok(config)
}

fn client(
    provider: Arc<CryptoProvider>,
    same: Arc<SameKey>,
    key: Arc<CertifiedKey>,
) -> Result<ClientConfig, Error> {
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(same)
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(key)));
    // Server names travel unencrypted and are useless here: all nodes have the same key.
    config.enable_sni = false;
    Ok(config)
}

/// Returns the key derived from the secret.
fn certified(secret: &Secret) -> Result<CertifiedKey, Error> {
    let seed = secret.mac().chain_update(KEY_OF).finalize().into_bytes();
    let pkcs8 = PrivatePkcs8KeyDer::from([&PKCS8_HEAD[..], &seed[..]].concat());
    let key = ring::sign::any_eddsa_type(&pkcs8)?;
    let public = key.public_key().map(|public| public.to_vec());
    let public = public.ok_or_else(|| Error::General("the key has no public part".to_owned()))?;
    Ok(CertifiedKey::new(vec![CertificateDer::from(public)], key))
}

/// Accepts only the key derived from the secret, on either side.
struct SameKey {
    key: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl SameKey {
    fn compare(&self, found: &CertificateDer<'_>) -> Result<(), Error> {
        if *found == self.key {
            return Ok(());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    /// Checks that the other side has the private part of the key.
    fn prove(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(key.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
    }
}

/// Returns the error for TLS 1.2, which neither side offers.
fn too_old() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::General("TLS 1.2 is not supported".to_owned()))
}

impl fmt::Debug for SameKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SameKey(..)")
    }
}

impl ServerCertVerifier for SameKey {
    fn verify_server_cert(
        &self,
        found: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.compare(found).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        too_old()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.prove(message, key, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for SameKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        found: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.compare(found).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        too_old()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.prove(message, key, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

//! Identity of a client: the groups of a request, and whether it comes from an administrator.
//!
//! Invariants:
//! - The header with groups is trusted only from the configured addresses.
//! - An invalid token is refused and never treated as absent, in a header or in a cookie.
//! - A cookie has the same effect as the same token in a header.
//! - A token decides who the client is, even on this machine.

use std::net::IpAddr;

use access::{Groups, TokenHolder, TokensFile};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::failure::{Code, Failure};
use crate::local_owner::{is_known_without_token, is_of_owner};
use crate::peer::Peer;
use crate::settings::{GroupsHeader, ServerSettings};

/// Name of the session cookie.
pub(crate) const COOKIE: &str = "weft_token";

/// Identity of the client of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Identity {
    pub(crate) groups: Groups,
    pub(crate) signed_in: SignedIn,
    /// Whether the client is an administrator. Administrators are in the group [`access::ADMIN`],
    /// and rules can hide pages from them.
    pub(crate) is_admin: bool,
    /// Groups of the same client at the replay origin, which ignores tokens and does not recognize
    /// the owner.
    pub(crate) replay_groups: Groups,
}

/// Whether the client is signed in, with a session cookie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SignedIn {
    #[default]
    No,
    Yes,
    /// The token is revoked or expired. The client gets only the sign-in page.
    Expired,
}

/// Finds the groups of a request.
pub(crate) struct Authenticator {
    header: Option<GroupsHeader>,
    tokens: Option<TokensFile>,
    admin_groups: Vec<String>,
    /// Whether the owner of the server needs no token on this machine.
    trusts_local_owner: bool,
}

impl Authenticator {
    pub(crate) fn new(settings: &ServerSettings) -> Authenticator {
        Authenticator {
            header: settings.groups_header.clone(),
            tokens: settings.tokens.clone().map(TokensFile::at),
            admin_groups: settings.admin_groups.clone(),
            trusts_local_owner: is_known_without_token(settings),
        }
    }

    /// Returns whether the server accepts tokens.
    pub(crate) fn accepts_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// Returns whether a proxy authenticates clients.
    pub(crate) fn has_trusted_proxy(&self) -> bool {
        self.header.is_some()
    }

    /// Returns the identity of the client. It is the public if the request says nothing.
    pub(crate) fn identify(&self, request: &Request) -> Result<Identity, Failure> {
        let headers = request.headers();
        let groups = self.groups_of_proxy(request);
        let in_replay = TokenHolder {
            groups: groups.clone(),
            is_admin: false,
        };
        let replay_groups = self.identity(in_replay, SignedIn::No).groups;
        let identity = if let Some(token) = headers.get(header::AUTHORIZATION) {
            self.identity(self.bearer_of_header(token)?, SignedIn::No)
        } else if let Some(token) = self.cookie(headers) {
            self.identity(self.bearer_of_token(token)?, SignedIn::Yes)
        } else {
            let is_admin = self.trusts_local_owner && is_of_owner(request);
            self.identity(TokenHolder { groups, is_admin }, SignedIn::No)
        };
        Ok(Identity {
            replay_groups,
            ..identity
        })
    }

    /// Returns the groups that a trusted proxy names.
    fn groups_of_proxy(&self, request: &Request) -> Groups {
        let peer = request.extensions().get::<Peer>();
        let trusted = self.header.as_ref();
        let trusted = trusted.filter(|header| peer.is_some_and(|Peer(peer)| header.is_from(peer.ip())));
        let groups = trusted.map(|header| groups_in(request.headers(), &header.name));
        groups.unwrap_or_default()
    }

    /// Returns the identity of a client whose groups are known.
    fn identity(&self, bearer: TokenHolder, signed_in: SignedIn) -> Identity {
        let is_admin = bearer.is_admin || bearer.groups.has_any(&self.admin_groups);
        Identity {
            groups: if is_admin {
                bearer.groups.with_admin()
            } else {
                bearer.groups
            },
            signed_in,
            is_admin,
            ..Identity::default()
        }
    }

    /// Returns the session token, if the request is authenticated by cookie.
    pub(crate) fn cookie<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        if !self.accepts_tokens() || headers.contains_key(header::AUTHORIZATION) {
            return None;
        }
        let values = headers.get_all(header::COOKIE).iter();
        let mut pairs = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == COOKIE).map(|(_, token)| token)
    }

    fn bearer_of_header(&self, value: &HeaderValue) -> Result<TokenHolder, Failure> {
        if !self.accepts_tokens() {
            return Err(no_tokens());
        }
        let token = value.to_str().ok().and_then(|value| value.split_once(' '));
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let (_, token) = token.ok_or_else(|| refused("expected a token as Authorization: Bearer TOKEN"))?;
        self.bearer_of_token(token)
    }

    /// Returns the bearer of a token.
    pub(crate) fn bearer_of_token(&self, token: &str) -> Result<TokenHolder, Failure> {
        let tokens = self.tokens.as_ref().ok_or_else(no_tokens)?;
        let now_ms = system::time_ms();
        match tokens.bearer(token.trim(), now_ms) {
            Ok(Some(bearer)) => Ok(bearer),
            Ok(None) => Err(refused("the token is unknown, withdrawn or expired")),
            Err(error) => {
                tracing::error!(%error, "cannot read the tokens");
                Err(Failure::unavailable(
                    "the tokens cannot be read; see the server's log",
                ))
            }
        }
    }

    /// Returns the `Vary` header: request headers that answers depend on.
    pub(crate) fn vary(&self) -> Option<HeaderValue> {
        let mut names = Vec::new();
        names.extend(self.tokens.as_ref().map(|_| "authorization, cookie"));
        names.extend(self.header.as_ref().map(|header| header.name.as_str()));
        (!names.is_empty())
            .then(|| HeaderValue::try_from(names.join(", ")).ok())
            .flatten()
    }
}

impl Identity {
    /// Returns the identity of a client whose cookie is expired or revoked.
    pub(crate) fn expired() -> Identity {
        Identity {
            signed_in: SignedIn::Expired,
            ..Identity::default()
        }
    }
}

impl GroupsHeader {
    fn is_from(&self, peer: IpAddr) -> bool {
        // A dual-stack socket reports IPv4 addresses as IPv6 ones.
        let peer = peer.to_canonical();
        self.from.iter().any(|net| net.contains(&peer))
    }
}

fn refused(why: &str) -> Failure {
    Failure::new(StatusCode::UNAUTHORIZED, Code::Unauthorized, why.to_owned())
}

fn no_tokens() -> Failure {
    refused("this server accepts no tokens; weft serve --tokens FILE sets a file of tokens")
}

/// Returns the groups in all headers with this name. A proxy may add several headers.
fn groups_in(headers: &HeaderMap, name: &HeaderName) -> Groups {
    let values = headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok());
    Groups::listed(&values.collect::<Vec<_>>().join(","))
}

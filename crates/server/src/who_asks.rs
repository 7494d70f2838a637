//! Who asks: the groups of a request.
//!
//! Invariants:
//! - the header of groups is believed from the addresses named alone, whatever others send;
//! - a token that is none is refused, and never taken for no token.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use ipnet::IpNet;
use rights::{Groups, TokensFile};

use crate::failure::{Code, Failure};
use crate::settings::ServerSettings;
use crate::state::Peer;

/// A header in which a proxy names the groups of who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupsHeader {
    /// Its name. Values are names of groups with commas between them.
    pub name: HeaderName,
    /// Addresses of the proxies that it is believed from.
    pub from: Vec<IpNet>,
}

/// How the groups of a request are found.
pub(crate) struct WhoAsks {
    header: Option<GroupsHeader>,
    tokens: Option<TokensFile>,
}

impl WhoAsks {
    pub(crate) fn new(settings: &ServerSettings) -> WhoAsks {
        WhoAsks {
            header: settings.groups_header.clone(),
            tokens: settings.tokens.clone().map(TokensFile::at),
        }
    }

    /// The groups of who sent a request; the public's if it says nothing.
    pub(crate) fn groups(&self, request: &Request) -> Result<Groups, Failure> {
        if let Some(token) = request.headers().get(header::AUTHORIZATION) {
            return self.of_token(token);
        }
        let Some(header) = &self.header else {
            return Ok(Groups::public());
        };
        match request.extensions().get::<Peer>() {
            Some(Peer(peer)) if header.is_from(peer.ip()) => Ok(listed(request.headers(), &header.name)),
            _ => Ok(Groups::public()),
        }
    }

    fn of_token(&self, value: &HeaderValue) -> Result<Groups, Failure> {
        let refused = |why: &str| Failure::new(StatusCode::UNAUTHORIZED, Code::Unauthorized, why.to_owned());
        let Some(tokens) = &self.tokens else {
            return Err(refused(
                "this server takes no tokens: weft serve --tokens FILE names a file of them",
            ));
        };
        let token = value.to_str().ok().and_then(|value| value.split_once(' '));
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let (_, token) = token.ok_or_else(|| refused("a token comes as Authorization: Bearer TOKEN"))?;
        let now_ms = i64::try_from(ambient::wall_ms()).unwrap_or(i64::MAX);
        match tokens.groups(token.trim(), now_ms) {
            Ok(Some(groups)) => Ok(groups),
            Ok(None) => Err(refused(
                "this is no token of this server, or one that was withdrawn or is over",
            )),
            Err(error) => {
                tracing::error!(%error, "tokens cannot be read");
                Err(Failure::unavailable(
                    "the tokens cannot be read; the server's log says why",
                ))
            }
        }
    }

    /// What answers depend on besides their address.
    pub(crate) fn vary(&self) -> Option<HeaderValue> {
        let mut names = Vec::new();
        names.extend(self.tokens.as_ref().map(|_| "authorization"));
        names.extend(self.header.as_ref().map(|header| header.name.as_str()));
        (!names.is_empty())
            .then(|| HeaderValue::try_from(names.join(", ")).ok())
            .flatten()
    }
}

impl GroupsHeader {
    fn is_from(&self, peer: IpAddr) -> bool {
        // A socket for both families gives IPv4 addresses as IPv6 ones.
        let peer = peer.to_canonical();
        self.from.iter().any(|net| net.contains(&peer))
    }
}

/// The groups of all headers of a name: a proxy may add one line for each.
fn listed(headers: &HeaderMap, name: &HeaderName) -> Groups {
    let values = headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok());
    Groups::listed(&values.collect::<Vec<_>>().join(","))
}

//! State shared by all handlers, and the archive as each request may see it.
//!
//! Invariant: a handler gets a [`State`], which exists only for a request whose groups are known,
//! and asks with its archive client. The owner's client is only for the server's own counters and
//! for administration routes.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use access::Groups;
use archive::Archive;
use archive::question::{AccessScope, AccessScopeBody};
use axum::extract::{FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts as RequestParts;
use cache::Cache;
use listen::{ConnectionLimiter, Hosts, Limits, Misaddressed, Permits};
use tokio::sync::Semaphore;
use ui::{Parts, Viewer};

use crate::answers::Answers;
use crate::archive_client::ArchiveClient;
use crate::catalogue::{CatalogueLocation, Files};
use crate::cdx_pages::PageLists;
use crate::counters::Counters;
use crate::failure::{Code, Failure};
use crate::history::History;
use crate::identity::{Authenticator, Identity, SignedIn};
use crate::limits::{CONTENTS_MAX, CONTENTS_PER_ADDRESS_MAX, POST_BODIES_MAX};
use crate::replay_origin::ReplayOrigin;
use crate::settings::ServerSettings;
use crate::sql_server::SqlServer;
use crate::storage::{FaceCounts, Storage, StoreMonitor};
use crate::takedown_scans::TakedownScans;
use crate::upload_folder::UploadFolder;

/// Everything that a server serves.
pub struct ServerParts {
    /// Answers every question about the archive.
    pub archive: Arc<dyn Answers>,
    /// The store, if the server has one.
    pub store: Option<Arc<dyn Storage>>,
    /// Counters of the S3 gateway, if there is one.
    pub gateway: Option<FaceCounts>,
    /// The cache for reads from remote stores, if there is one.
    pub cache: Option<Cache>,
    /// Answers SQL statements, if the `weft-sql` program is installed.
    pub sql: Option<Arc<dyn SqlServer>>,
    /// Location of the catalogue of files. The catalogue may be created later.
    pub files: Option<CatalogueLocation>,
}

impl From<Arc<dyn Answers>> for ServerParts {
    fn from(archive: Arc<dyn Answers>) -> ServerParts {
        ServerParts {
            archive,
            store: None,
            gateway: None,
            cache: None,
            sql: None,
            files: None,
        }
    }
}

impl From<Archive> for ServerParts {
    fn from(archive: Archive) -> ServerParts {
        ServerParts {
            archive: Arc::new(archive),
            store: None,
            gateway: None,
            cache: None,
            sql: None,
            files: None,
        }
    }
}

/// Limits on concurrent posts of captures.
pub(crate) struct PostPermits {
    /// Permits for bodies in memory.
    pub(crate) bodies: Semaphore,
    /// Permit to add or delete captures. There is only one.
    pub(crate) turn: Semaphore,
}

impl PostPermits {
    fn new() -> PostPermits {
        PostPermits {
            bodies: Semaphore::new(POST_BODIES_MAX),
            turn: Semaphore::new(1),
        }
    }
}

/// State shared by all requests. A server has one.
pub(crate) struct Common {
    pub(crate) settings: ServerSettings,
    /// Host names that the server accepts requests for.
    pub(crate) hosts: Hosts,
    /// Permits for contents that are being read.
    pub(crate) contents: Permits,
    /// Admits connections.
    pub(crate) door: Arc<ConnectionLimiter>,
    /// Asks as the owner of the archive.
    owner: ArchiveClient,
    /// Identifies the client of an HTTP request.
    pub(crate) authenticator: Authenticator,
    pub(crate) cdx_pages: PageLists,
    pub(crate) posts: PostPermits,
    /// Uploaded files, if uploads are accepted.
    pub(crate) uploads: Option<Arc<UploadFolder>>,
    pub(crate) takedown_scans: TakedownScans,
    pub(crate) counters: Arc<Counters>,
    pub(crate) history: History,
    /// The store, if the server has one.
    pub(crate) store: Option<StoreMonitor>,
    /// Counts of the S3 gateway, if there is one.
    pub(crate) gateway: Option<FaceCounts>,
    /// The cache, if there is one.
    pub(crate) cache: Option<Cache>,
    /// Answers SQL statements, if the `weft-sql` program is installed.
    pub(crate) sql: Option<Arc<dyn SqlServer>>,
    /// The catalogue of files, if a location for it is known.
    files: Option<Files>,
    /// Where archived pages are shown. Set once that port is bound.
    replay: OnceLock<ReplayOrigin>,
}

impl Common {
    pub(crate) fn new(served: ServerParts, settings: ServerSettings) -> Arc<Common> {
        let counters = Arc::new(Counters::new());
        Arc::new(Common {
            authenticator: Authenticator::new(&settings),
            owner: ArchiveClient::new(served.archive, settings.questions_max, Arc::clone(&counters)),
            hosts: Hosts::new(settings.listen, &settings.hosts),
            contents: Permits::new(CONTENTS_MAX, CONTENTS_PER_ADDRESS_MAX),
            door: ConnectionLimiter::new(Limits {
                connections_max: settings.connections_max,
                per_address_max: settings.connections_per_address_max,
                // Requests are not signed here, so no connections are reserved for signed ones.
                reserve: 0,
            }),
            cdx_pages: PageLists::default(),
            posts: PostPermits::new(),
            uploads: settings
                .uploads
                .clone()
                .map(|uploads| Arc::new(UploadFolder::new(uploads))),
            takedown_scans: TakedownScans::default(),
            counters,
            history: History::new(),
            store: served.store.map(StoreMonitor::new),
            gateway: served.gateway,
            cache: served.cache,
            sql: served.sql,
            files: served.files.map(Files::new),
            replay: OnceLock::new(),
            settings,
        })
    }

    /// Returns the client that asks as the owner of the archive.
    pub(crate) fn owner(&self) -> &ArchiveClient {
        &self.owner
    }

    /// Returns how much of the archive the client may see.
    ///
    /// # Errors
    /// If the rules cannot be read.
    pub(crate) async fn sight(&self, identity: &Identity) -> Result<AccessScopeBody, Failure> {
        if self.owner().has_no_rules() {
            return Ok(AccessScopeBody {
                everything: true,
                has_rules: false,
            });
        }
        let archive = self.owner().seen_by(&identity.groups);
        Ok(archive.ask(AccessScope {}).await?.body)
    }

    /// Returns the state for a client with this sight. Clients that are not administrators get file
    /// names without folders.
    pub(crate) fn seen_by(self: &Arc<Common>, identity: Identity, sight: AccessScopeBody) -> Arc<State> {
        let archive = self.owner.seen_by(&identity.groups);
        Arc::new(State {
            // Only administrators may see folders of files.
            archive: if identity.is_admin {
                archive
            } else {
                archive.redact_paths()
            },
            identity,
            sight,
            common: Arc::clone(self),
        })
    }

    /// Returns the state for an administrator on an administration route: questions are asked as
    /// the owner.
    pub(crate) fn administered_by(
        self: &Arc<Common>,
        identity: Identity,
        sight: AccessScopeBody,
    ) -> Arc<State> {
        assert!(identity.is_admin, "only administrators may act as the owner");
        Arc::new(State {
            archive: self.owner.clone(),
            identity,
            sight,
            common: Arc::clone(self),
        })
    }

    /// Returns where archived pages are shown, if they are.
    pub(crate) fn replay_origin(&self) -> Option<&ReplayOrigin> {
        self.replay.get()
    }

    /// Sets where archived pages are shown. Called once.
    pub(crate) fn set_replay_origin(&self, origin: ReplayOrigin) {
        // The server binds one such port, so this never fails.
        let _ = self.replay.set(origin);
    }

    /// Returns why a request is refused because of its host name.
    pub(crate) fn check_host(&self, request: &Request) -> Option<Failure> {
        match self
            .hosts
            .admit(request.version(), request.uri(), request.headers())
        {
            Ok(()) => None,
            Err(Misaddressed::Malformed) => Some(Failure::bad_request(
                "a request must have exactly one Host (RFC 9112, section 3.2)",
            )),
            Err(Misaddressed::NotOurs) => Some(Failure::new(
                StatusCode::MISDIRECTED_REQUEST,
                Code::WrongHost,
                "unknown host name; weft serve --host NAME adds a name of this server",
            )),
        }
    }

    /// Returns the store, or a failure if the server has none.
    pub(crate) fn attached_store(&self) -> Result<&StoreMonitor, Failure> {
        self.store.as_ref().ok_or_else(|| {
            Failure::not_found(
                "this server has no replicated store; weft serve --s3 ADDRESS --volume DIR attaches one",
            )
        })
    }

    /// Returns where archived pages are shown, or a failure if replay is disabled.
    pub(crate) fn bound_replay(&self) -> Result<&ReplayOrigin, Failure> {
        self.replay_origin()
            .ok_or_else(|| Failure::not_found("replay is disabled: this server was started with --no-replay"))
    }

    /// Returns the catalogue of files, or a failure if there is none.
    pub(crate) fn catalogued_files(&self) -> Result<&Files, Failure> {
        let files = self.files.as_ref().filter(|files| files.is_there());
        files.ok_or_else(|| {
            Failure::not_found("this archive has no catalogue of files; weft files scan DIR creates one")
        })
    }

    /// Returns the parts of the navigation that administrators see.
    fn parts(&self) -> Parts {
        Parts {
            archive: true,
            running: true,
            store: self.store.is_some(),
            sql: self.sql.is_some(),
            // Checked on each call: the first scan may end while the server runs.
            files: self.files.as_ref().is_some_and(Files::is_there),
            cache: self.cache.is_some(),
        }
    }
}

/// The server as seen by one request.
pub(crate) struct State {
    common: Arc<Common>,
    /// Asks with the permissions of the client.
    pub(crate) archive: ArchiveClient,
    identity: Identity,
    sight: AccessScopeBody,
}

impl Deref for State {
    type Target = Common;

    fn deref(&self) -> &Common {
        &self.common
    }
}

impl State {
    /// Returns whether the client sees the whole archive.
    pub(crate) fn sees_everything(&self) -> bool {
        self.sight.everything
    }

    /// Returns whether the client is an administrator. Only administrators may use loads, jobs, the
    /// catalogue of files, the store, rules and takedowns, and see paths of this machine.
    pub(crate) fn is_admin(&self) -> bool {
        self.identity.is_admin
    }

    /// Returns the archive as the replay origin shows it to this client, if it may hide more there.
    pub(crate) fn seen_in_replay(&self) -> Option<ArchiveClient> {
        let groups = &self.identity.replay_groups;
        let may_differ = self.sight.has_rules && groups != self.groups();
        may_differ.then(|| self.common.owner.seen_by(groups))
    }

    /// Returns the groups of the client.
    pub(crate) fn groups(&self) -> &Groups {
        &self.identity.groups
    }

    /// Returns whether the client is signed in.
    pub(crate) fn signed_in(&self) -> SignedIn {
        self.identity.signed_in
    }

    /// Returns the identity that pages show to the client, or `None` if everybody sees the same.
    pub(crate) fn viewer(&self) -> Option<Viewer> {
        let can_sign_in = self.authenticator.accepts_tokens();
        let matters = can_sign_in || self.authenticator.has_trusted_proxy() || self.sight.has_rules;
        matters.then(|| Viewer {
            name: self.groups().to_string(),
            can_sign_in,
            is_signed_in: self.signed_in() == SignedIn::Yes,
        })
    }

    /// Returns the parts of the navigation that the client sees.
    pub(crate) fn parts(&self) -> Parts {
        if !self.is_admin() {
            return Parts {
                archive: true,
                ..Parts::default()
            };
        }
        let parts = self.common.parts();
        Parts {
            // SQL statements may read every page.
            sql: parts.sql && self.sees_everything(),
            ..parts
        }
    }
}

/// The state of a request, as handlers extract it.
pub(crate) struct Context(pub(crate) Arc<State>);

impl Deref for Context {
    type Target = Arc<State>;

    fn deref(&self) -> &Arc<State> {
        &self.0
    }
}

impl FromRequestParts<Arc<Common>> for Context {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut RequestParts, _: &Arc<Common>) -> Result<Context, Failure> {
        let state = parts.extensions.get::<Arc<State>>();
        // Set for every request before any handler runs (`routes`).
        state.cloned().map(Context).ok_or_else(Failure::internal)
    }
}

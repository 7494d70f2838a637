//! Names of users and groups.

use std::collections::HashMap;

use ::files::NO_OWNER;
use nix::unistd::{Gid, Group, Uid, User};

/// Names that the system knows, each asked for once.
#[derive(Default)]
pub(super) struct Names {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Names {
    /// The name of a user, or the number where there is none.
    pub(super) fn user(&mut self, uid: u32) -> &str {
        self.users
            .entry(uid)
            .or_insert_with(|| user_name(uid).unwrap_or_else(|| uid.to_string()))
    }

    /// The name of a group, or the number where there is none.
    pub(super) fn group(&mut self, gid: u32) -> &str {
        self.groups.entry(gid).or_insert_with(|| match gid {
            NO_OWNER => NOBODY.to_owned(),
            gid => group_name(gid).unwrap_or_else(|| gid.to_string()),
        })
    }
}

fn group_name(gid: u32) -> Option<String> {
    Group::from_gid(Gid::from_raw(gid))
        .ok()
        .flatten()
        .map(|group| group.name)
}

/// What has no owner or group: objects of a store.
const NOBODY: &str = "(none)";

/// The name of a user, if the system knows one.
pub(super) fn user_name(uid: u32) -> Option<String> {
    if uid == NO_OWNER {
        return Some(NOBODY.to_owned());
    }
    User::from_uid(Uid::from_raw(uid))
        .ok()
        .flatten()
        .map(|user| user.name)
}

/// The number of a user by name or number.
pub(super) fn uid(text: &str) -> Result<u32, String> {
    match User::from_name(text) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        _ => text
            .parse()
            .map_err(|_| format!("there is no user {text:?} here: give the number")),
    }
}

/// The number of a group by name or number.
pub(super) fn gid(text: &str) -> Result<u32, String> {
    match Group::from_name(text) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        _ => text
            .parse()
            .map_err(|_| format!("there is no group {text:?} here: give the number")),
    }
}

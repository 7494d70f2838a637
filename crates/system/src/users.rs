//! Names of users and groups from the system, to show in place of numbers in file listings.

use std::collections::HashMap;

use nix::unistd::{Gid, Group, Uid, User};

/// A cache of names, each looked up once.
#[derive(Debug, Default)]
pub struct Names {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Names {
    /// Returns the name of a user, or the number if it has no name.
    pub fn user(&mut self, uid: u32) -> &str {
        self.users
            .entry(uid)
            .or_insert_with(|| user_name(uid).unwrap_or_else(|| uid.to_string()))
    }

    /// Returns the name of a group, or the number if it has no name.
    pub fn group(&mut self, gid: u32) -> &str {
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

/// The id that belongs to no account, `(uid_t) -1` (chown(2)). It marks entries without an owner or
/// group, such as objects of a store.
const NO_OWNER: u32 = u32::MAX;

/// The displayed name of that id.
const NOBODY: &str = "(none)";

/// Returns the name of a user, if the system knows one.
pub fn user_name(uid: u32) -> Option<String> {
    if uid == NO_OWNER {
        return Some(NOBODY.to_owned());
    }
    User::from_uid(Uid::from_raw(uid))
        .ok()
        .flatten()
        .map(|user| user.name)
}

/// Returns the name of the user of this process, or the number if it has no name.
pub fn own_name() -> String {
    let uid = Uid::current().as_raw();
    user_name(uid).unwrap_or_else(|| uid.to_string())
}

/// A text is neither a number nor a name of this system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// There is no such user.
    #[error("this system has no user {0:?}: give the number")]
    User(String),
    /// There is no such group.
    #[error("this system has no group {0:?}: give the number")]
    Group(String),
}

/// Returns the id of a user given by name or number.
///
/// # Errors
/// [`AccountError::User`].
pub fn uid(text: &str) -> Result<u32, AccountError> {
    match User::from_name(text) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        _ => text.parse().map_err(|_| AccountError::User(text.to_owned())),
    }
}

/// Returns the id of a group given by name or number.
///
/// # Errors
/// [`AccountError::Group`].
pub fn gid(text: &str) -> Result<u32, AccountError> {
    match Group::from_name(text) {
        Ok(Some(group)) => Ok(group.gid.as_raw()),
        _ => text.parse().map_err(|_| AccountError::Group(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_is_its_number() {
        let mut names = Names::default();
        assert_eq!(names.user(0), "root");
        assert_eq!(names.user(3_999_999_999), "3999999999");
        assert_eq!(names.group(3_999_999_999), "3999999999");
        assert_eq!(uid("root"), Ok(0));
        assert_eq!(gid("3999999999"), Ok(3_999_999_999));
        let error = uid("no such user").unwrap_err();
        assert!(error.to_string().contains("give the number"));
    }
}

//! Succession: how one layout follows another, and how two are distinguished.
//!
//! Invariants: numbers increase by one; the seed never changes; a volume that left is never used
//! again.

use crate::ids::VolumeId;
use crate::layout::{Layout, Layouts, Roles};
use crate::rules::RolesError;

impl Layouts {
    /// Returns the first layouts of a cluster.
    ///
    /// # Errors
    /// [`RolesError`] if the roles break a rule.
    pub fn first(roles: Roles, seed: u64) -> Result<Self, RolesError> {
        let current = Layout::new(1, seed, roles)?;
        current.roles.check_copies()?;
        Ok(Self {
            current,
            older: Vec::new(),
        })
    }

    /// Returns the layouts after a change of roles. Reads continue to use the previous ones.
    /// Volumes that are no longer in `roles` are retired, in addition to all retired before.
    ///
    /// # Errors
    /// [`RolesError`] if the roles break a rule, for example if they use a retired volume again.
    pub fn next(&self, mut roles: Roles) -> Result<Self, RolesError> {
        let stays = |id: &VolumeId| roles.volumes.iter().any(|volume| volume.id == *id);
        let before = self.current.roles.volumes.iter().map(|volume| volume.id.clone());
        let gone: Vec<VolumeId> = before.filter(|id| !stays(id)).collect();
        roles.retired.extend(gone);
        roles.retired.extend(self.current.roles.retired.iter().cloned());
        let current = Layout::new(self.current.number + 1, self.current.seed, roles)?;
        current.roles.check_copies()?;
        debug_assert!(
            current.number > self.current.number && current.seed == self.current.seed,
            "layout {} of seed {} follows layout {} of seed {}",
            current.number,
            current.seed,
            self.current.number,
            self.current.seed
        );
        let older = std::iter::once(&self.current)
            .chain(&self.older)
            .cloned()
            .collect();
        Ok(Self { current, older })
    }
}

impl Layout {
    /// Makes a layout of these roles, sorted by name.
    ///
    /// # Errors
    /// [`RolesError`] if the roles break a rule.
    pub fn new(number: u64, seed: u64, mut roles: Roles) -> Result<Self, RolesError> {
        roles.nodes.sort_by(|a, b| a.id.cmp(&b.id));
        roles.volumes.sort_by(|a, b| a.id.cmp(&b.id));
        let layout = Self { number, seed, roles };
        layout.check()?;
        Ok(layout)
    }

    /// Returns BLAKE3 in hexadecimal of the layout's content, as defined in
    /// `docs/format-layout.md`. It is equal only for equal layouts.
    pub fn digest(&self) -> String {
        let mut bytes = Vec::new();
        let Self { number, seed, roles } = self;
        bytes.extend(number.to_be_bytes());
        bytes.extend(seed.to_be_bytes());
        bytes.push(roles.replicas);
        count(&mut bytes, roles.nodes.len());
        for node in &roles.nodes {
            text(&mut bytes, &node.id.0);
            text(&mut bytes, &node.zone);
            text(&mut bytes, &node.address);
        }
        count(&mut bytes, roles.volumes.len());
        for volume in &roles.volumes {
            text(&mut bytes, &volume.id.0);
            text(&mut bytes, &volume.node.0);
            text(&mut bytes, &volume.zone);
            bytes.extend(volume.weight.to_be_bytes());
        }
        count(&mut bytes, roles.retired.len());
        for id in &roles.retired {
            text(&mut bytes, &id.0);
        }
        blake3::hash(&bytes).to_hex().to_string()
    }
}

fn count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend((count as u64).to_be_bytes());
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    count(bytes, text.len());
    bytes.extend(text.as_bytes());
}

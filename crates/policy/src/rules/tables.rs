//! The TOML tables of a rules file. Each key has its place, so that errors can point to it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::{Order, UsageOf};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileOfRules {
    #[serde(default)]
    pub(super) class: BTreeMap<String, Spanned<ClassTable>>,
    #[serde(default)]
    pub(super) policy: BTreeMap<String, Spanned<PolicyTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassTable {
    pub(super) condition: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyTable {
    #[serde(default)]
    pub(super) scope: Vec<Spanned<PathBuf>>,
    pub(super) condition: Option<Spanned<String>>,
    pub(super) action: Spanned<String>,
    pub(super) to: Option<Spanned<String>>,
    pub(super) replicas: Option<Spanned<u32>>,
    pub(super) older_than: Option<Spanned<String>>,
    pub(super) command: Option<Spanned<Vec<String>>>,
    pub(super) time_max: Option<Spanned<String>>,
    pub(super) output_max: Option<Spanned<String>>,
    pub(super) more_than: Option<Spanned<String>>,
    pub(super) within: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) order: Order,
    pub(super) stale_max: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) trigger: TriggerTable,
    #[serde(default)]
    pub(super) limits: LimitsTable,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct TriggerTable {
    pub(super) every: Option<Spanned<String>>,
    pub(super) usage_of: Option<Spanned<UsageOf>>,
    pub(super) high: Option<Spanned<String>>,
    pub(super) low: Option<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsTable {
    pub(super) count: Option<u64>,
    pub(super) size: Option<Spanned<String>>,
    pub(super) rate: Option<Spanned<String>>,
    pub(super) window: Option<Spanned<String>>,
    pub(super) errors: Option<Spanned<String>>,
}

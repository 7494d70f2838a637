//! Selects the store of a command: flags, else `WEFT_STORE`.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use cluster::{ConnectSettings, VolumeSettings};

use crate::outcome::WrongUse;

/// Names the store if no flag does: a `node.toml`, or volume directories separated by colons.
pub(crate) const STORE_VARIABLE: &str = "WEFT_STORE";

const HEADING: &str = "Store selection";
/// Headings that the short help of a command leaves out if its purpose is another.
const RARE: [&str; 3] = [HEADING, "Cache", "S3 gateway"];

/// Hides the flags of remote data from the short help of a command that seldom needs them.
pub(crate) fn only_in_long_help(arg: clap::Arg) -> clap::Arg {
    match arg.get_help_heading() {
        Some(heading) if RARE.contains(&heading) => arg.hide_short_help(true),
        _ => arg,
    }
}

/// Flags that select a store.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// Volume of the store; once for each disk [default: $WEFT_STORE]
    #[arg(
        long = "volume",
        global = true,
        value_name = "DIR[,name=N][,zone=Z][,weight=W]",
        value_parser = parse_volume,
        conflicts_with = "cluster",
        help_heading = HEADING
    )]
    pub(crate) volumes: Vec<VolumeSettings>,

    /// Store described by a node.toml of this machine
    #[arg(
        long,
        global = true,
        value_name = "NODE.TOML",
        conflicts_with_all = ["volumes", "cluster"],
        help_heading = HEADING
    )]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Flags that name a cluster which this machine is not part of.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Cluster file of a running cluster; requires its secret
    #[arg(
        long,
        global = true,
        value_name = "CLUSTER.TOML",
        requires = "secret_file",
        help_heading = HEADING
    )]
    cluster: Option<PathBuf>,

    /// File with the secret of --cluster
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        requires = "cluster",
        help_heading = HEADING
    )]
    secret_file: Option<PathBuf>,
}

impl ClusterArgs {
    /// Returns the cluster that the flags name, if any.
    pub(crate) fn given(&self) -> Option<ConnectSettings> {
        let (file, secret) = (self.cluster.clone()?, self.secret_file.clone()?);
        Some(ConnectSettings::Cluster { file, secret })
    }
}

/// Parses a volume on the command line.
pub(crate) fn parse_volume(text: &str) -> anyhow::Result<VolumeSettings> {
    let volume: VolumeSettings = text.parse()?;
    ensure!(
        volume.path.is_dir() || !volume.path.exists(),
        "{} is not a directory; a volume is a directory, usually on its own disk",
        volume.path.display()
    );
    Ok(volume)
}

/// Returns the store that flags or the environment name.
///
/// # Errors
/// Fails with [`WrongUse`] if neither names one, or the environment variable is invalid.
pub(crate) fn place(args: &StoreArgs) -> Result<ConnectSettings, WrongUse> {
    given(args).map_or_else(from_environment, Ok)
}

/// Returns the store that flags name, if any.
pub(crate) fn given(args: &StoreArgs) -> Option<ConnectSettings> {
    if let Some(cluster) = args.cluster.given() {
        return Some(cluster);
    }
    if let Some(file) = &args.config {
        return Some(ConnectSettings::Node(file.clone()));
    }
    (!args.volumes.is_empty()).then(|| ConnectSettings::Volumes(args.volumes.clone()))
}

/// Returns the store that the environment names.
///
/// # Errors
/// Fails with [`WrongUse`] if the variable is unset or invalid.
pub(crate) fn from_environment() -> Result<ConnectSettings, WrongUse> {
    match std::env::var(STORE_VARIABLE) {
        Ok(text) if !text.is_empty() => from_text(&text),
        _ => Err(WrongUse(format!(
            "no store was named: give its volumes (--volume DIR, once per disk), a --config node.toml, or \
             a running cluster (--cluster cluster.toml --secret-file FILE), or set {STORE_VARIABLE}"
        ))),
    }
}

fn from_text(text: &str) -> Result<ConnectSettings, WrongUse> {
    // A name that ends in `.toml` is taken as a file even if it does not exist, so that the error
    // names the file.
    if Path::new(text).is_file() || text.ends_with(".toml") {
        return Ok(ConnectSettings::Node(PathBuf::from(text)));
    }
    // Colons separate directories as in PATH; a directory with a colon in its name needs a
    // node.toml.
    let volumes: anyhow::Result<Vec<VolumeSettings>> = text.split(':').map(parse_volume).collect();
    volumes
        .map(ConnectSettings::Volumes)
        .map_err(|error| WrongUse(format!("{STORE_VARIABLE}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str) -> String {
        match from_text(text) {
            Ok(ConnectSettings::Volumes(volumes)) => {
                let paths: Vec<String> = volumes.iter().map(|v| v.path.display().to_string()).collect();
                format!("volumes {}", paths.join(" "))
            }
            Ok(ConnectSettings::Node(path)) => format!("node {}", path.display()),
            Ok(ConnectSettings::Cluster { .. }) => "cluster".into(),
            Err(error) => error.0,
        }
    }

    #[test]
    fn the_environment_names_a_file_or_volumes() {
        assert_eq!(described("/etc/weft/node.toml"), "node /etc/weft/node.toml");
        assert_eq!(
            described("/disks/a:/disks/b,zone=east"),
            "volumes /disks/a /disks/b"
        );
        assert!(
            described("/disks/a:").contains("WEFT_STORE"),
            "{}",
            described("/disks/a:")
        );
        assert!(described("/a,colour=red").contains("colour"));
    }
}

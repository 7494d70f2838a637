//! Which store a command works on: flags, else `WEFT_STORE`.

use std::path::{Path, PathBuf};

use cluster::{ConnectSettings, VolumeSettings};

use crate::outcome::WrongUse;

/// Names the store where no flag does: a `node.toml`, or volume directories with colons between.
pub(crate) const STORE_VARIABLE: &str = "WEFT_STORE";

/// Flags that say which store is meant.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct StoreArgs {
    /// A volume of the store; once for each disk [default: $WEFT_STORE]
    #[arg(
        long = "volume",
        global = true,
        value_name = "DIR[,name=N][,zone=Z][,weight=W]",
        value_parser = parse_volume,
        conflicts_with = "cluster",
        help_heading = "Which store"
    )]
    pub(crate) volumes: Vec<VolumeSettings>,

    /// The store that a node.toml of this machine describes
    #[arg(
        long,
        global = true,
        value_name = "NODE.TOML",
        conflicts_with_all = ["volumes", "cluster"],
        help_heading = "Which store"
    )]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Flags that name a cluster of which this machine is no part.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ClusterArgs {
    /// A running cluster, by its cluster file and its secret
    #[arg(
        long,
        global = true,
        value_name = "CLUSTER.TOML",
        requires = "secret_file",
        help_heading = "Which store"
    )]
    cluster: Option<PathBuf>,

    /// The file with the secret of --cluster
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        requires = "cluster",
        help_heading = "Which store"
    )]
    secret_file: Option<PathBuf>,
}

impl ClusterArgs {
    /// The cluster that they name, if they do.
    pub(crate) fn given(&self) -> Option<ConnectSettings> {
        let (file, secret) = (self.cluster.clone()?, self.secret_file.clone()?);
        Some(ConnectSettings::Cluster { file, secret })
    }
}

/// A volume as the command line names it.
pub(crate) fn parse_volume(text: &str) -> Result<VolumeSettings, String> {
    let volume = text
        .parse::<VolumeSettings>()
        .map_err(|error| error.to_string())?;
    if volume.path.exists() && !volume.path.is_dir() {
        let path = volume.path.display();
        return Err(format!(
            "{path} is no directory; a volume is one, usually a disk of its own"
        ));
    }
    Ok(volume)
}

/// The store that flags or the environment name.
///
/// # Errors
/// [`WrongUse`] where neither does, or the environment names none that can be.
pub(crate) fn place(args: &StoreArgs) -> Result<ConnectSettings, WrongUse> {
    given(args).map_or_else(of_environment, Ok)
}

/// The store that flags name, if they do.
pub(crate) fn given(args: &StoreArgs) -> Option<ConnectSettings> {
    if let Some(cluster) = args.cluster.given() {
        return Some(cluster);
    }
    if let Some(file) = &args.config {
        return Some(ConnectSettings::Node(file.clone()));
    }
    (!args.volumes.is_empty()).then(|| ConnectSettings::Volumes(args.volumes.clone()))
}

/// The store that the environment names.
///
/// # Errors
/// [`WrongUse`] where it names none that can be.
pub(crate) fn of_environment() -> Result<ConnectSettings, WrongUse> {
    match std::env::var(STORE_VARIABLE) {
        Ok(text) if !text.is_empty() => of_text(&text),
        _ => Err(WrongUse(format!(
            "which store? Name its volumes (--volume DIR, once for each disk), a --config node.toml, a running cluster \
             (--cluster cluster.toml --secret-file FILE), or set {STORE_VARIABLE}"
        ))),
    }
}

fn of_text(text: &str) -> Result<ConnectSettings, WrongUse> {
    // A name that ends so is meant as a file even if it is not there, so that the error says that.
    if Path::new(text).is_file() || text.ends_with(".toml") {
        return Ok(ConnectSettings::Node(PathBuf::from(text)));
    }
    // Colons stand between directories as in PATH; a directory with a colon in its name needs a node.toml.
    let volumes: Result<Vec<VolumeSettings>, String> = text.split(':').map(parse_volume).collect();
    volumes
        .map(ConnectSettings::Volumes)
        .map_err(|error| WrongUse(format!("{STORE_VARIABLE}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str) -> String {
        match of_text(text) {
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

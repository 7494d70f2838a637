//! Inputs at addresses: S3 and the web, with settings from the environment (`AWS_ACCESS_KEY_ID` and
//! others).

use std::io;
use std::sync::{Arc, OnceLock};

use inputs::{InputSource, InputStat, Sources};
use remote::{Remote, Settings};
use warc::Input;

/// Returns all sources of inputs. They are made once per process, so that connections are reused.
pub(crate) fn sources() -> Sources {
    static SOURCES: OnceLock<Sources> = OnceLock::new();
    let make = || {
        let settings = Settings::from_variables(|name| std::env::var(name).ok());
        Sources::new(Arc::new(RemoteInputs(Remote::new(settings))))
    };
    SOURCES.get_or_init(make).clone()
}

struct RemoteInputs(Remote);

impl InputSource for RemoteInputs {
    fn serves(&self, address: &str) -> bool {
        self.0.serves(address)
    }

    fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<InputStat>>> {
        let looked = self.0.stat(addresses).into_iter();
        looked.map(|stat| stat.map(|stat| stat.map(input_stat))).collect()
    }

    fn list(&self, folder: &str) -> io::Result<Vec<(String, InputStat)>> {
        let listed = self.0.list(folder)?.into_iter();
        Ok(listed
            .map(|(address, stat)| (address, input_stat(stat)))
            .collect())
    }

    fn open(&self, address: &str, expected: Option<&InputStat>) -> io::Result<Arc<dyn Input>> {
        let expected = expected.map(|stat| remote::Stat {
            size: stat.size,
            validator: stat.validator.clone(),
            sha256: stat.sha256,
        });
        self.0.open(address, expected.as_ref())
    }
}

fn input_stat(stat: remote::Stat) -> InputStat {
    InputStat {
        size: stat.size,
        validator: stat.validator,
        sha256: stat.sha256,
    }
}

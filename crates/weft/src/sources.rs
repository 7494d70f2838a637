//! Where inputs come from besides files: S3, web servers and our own store, as the archive asks for them.

use std::io;
use std::sync::Arc;

use archive::{InputSource, Sources, Stat};
use remote::{Remote, S3Settings, Settings};
use warc::Input;

/// Every place that this process reads inputs from. Nothing is connected to before it is needed.
pub(crate) fn sources() -> Sources {
    let mut settings = Settings::default();
    settings.s3 = S3Settings::from_variables(|name| std::env::var(name).ok());
    Sources::with(Arc::new(Places(Remote::new(settings))))
}

struct Places(Remote);

impl InputSource for Places {
    fn serves(&self, address: &str) -> bool {
        self.0.serves(address)
    }

    fn stat(&self, addresses: &[&str]) -> Vec<io::Result<Option<Stat>>> {
        let looked = self.0.stat(addresses).into_iter();
        looked.map(|stat| stat.map(|stat| stat.map(seen))).collect()
    }

    fn list(&self, folder: &str) -> io::Result<Vec<(String, Stat)>> {
        let listed = self.0.list(folder)?.into_iter();
        Ok(listed.map(|(address, stat)| (address, seen(stat))).collect())
    }

    fn open(&self, address: &str, expected: Option<&Stat>) -> io::Result<Arc<dyn Input>> {
        let expected = expected.map(|stat| remote::Stat {
            size: stat.size,
            validator: stat.validator.clone(),
            sha256: stat.sha256,
        });
        self.0.open(address, expected.as_ref())
    }
}

fn seen(stat: remote::Stat) -> Stat {
    Stat {
        size: stat.size,
        validator: stat.validator,
        sha256: stat.sha256,
    }
}

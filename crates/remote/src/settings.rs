//! Settings for access to sources and for retries.

use std::time::Duration;

/// Settings for access to sources and for retries.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Access to `s3://` addresses.
    pub s3: S3Settings,
    /// Handling of temporary failures.
    pub retry: Retry,
}

/// When and how often to retry temporary failures.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Consecutive failures without a byte in between after which the request fails.
    pub failures_max: u32,
    /// Delay after the first failure; it doubles with each further one.
    pub wait_first: Duration,
    /// Maximum delay.
    pub wait_max: Duration,
    /// A connection that delivers nothing for this long has failed.
    pub silence_max: Duration,
}

impl Settings {
    /// Reads the settings from environment variables: those of [`S3Settings::from_variables`], and
    /// the number of tries from `AWS_MAX_ATTEMPTS`.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Settings {
        Settings {
            retry: Retry::from_variables(&variable),
            s3: S3Settings::from_variables(variable),
        }
    }
}

impl Default for Retry {
    /// Six tries within about half a minute; a timeout of a minute without data.
    fn default() -> Retry {
        Retry {
            failures_max: 6,
            wait_first: Duration::from_millis(500),
            wait_max: Duration::from_secs(10),
            silence_max: Duration::from_secs(60),
        }
    }
}

impl Retry {
    /// Reads the number of tries from `AWS_MAX_ATTEMPTS`, as other programs do; a value that is not
    /// a number above 0 counts as missing.
    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Retry {
        let given = variable("AWS_MAX_ATTEMPTS").and_then(|value| value.trim().parse().ok());
        let default = Retry::default();
        Retry {
            failures_max: given.filter(|tries| *tries > 0).unwrap_or(default.failures_max),
            ..default
        }
    }
}

/// Address and credentials of S3, from the usual environment variables. Profiles are not supported.
#[derive(Clone, Default)]
pub struct S3Settings {
    /// `AWS_ACCESS_KEY_ID`. Without it requests are not signed, which suffices for public buckets.
    pub access_key_id: Option<String>,
    /// `AWS_SECRET_ACCESS_KEY`
    pub secret_access_key: Option<String>,
    /// `AWS_SESSION_TOKEN`, for temporary keys.
    pub session_token: Option<String>,
    /// `AWS_REGION`, or `AWS_DEFAULT_REGION`. If missing, Amazon is asked for it; with an endpoint
    /// it is `us-east-1`.
    pub region: Option<String>,
    /// `AWS_ENDPOINT_URL_S3`, or `AWS_ENDPOINT_URL`: the URL of a store other than Amazon's.
    /// Buckets are then part of the path, and plain HTTP is used if the URL says so.
    pub endpoint: Option<String>,
}

impl S3Settings {
    /// Reads the settings from environment variables; an empty variable counts as missing.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> S3Settings {
        let first = |names: &[&str]| {
            let values = names.iter().filter_map(|name| variable(name));
            values
                .map(|value| value.trim().to_owned())
                .find(|value| !value.is_empty())
        };
        S3Settings {
            access_key_id: first(&["AWS_ACCESS_KEY_ID"]),
            secret_access_key: first(&["AWS_SECRET_ACCESS_KEY"]),
            session_token: first(&["AWS_SESSION_TOKEN"]),
            region: first(&["AWS_REGION", "AWS_DEFAULT_REGION"]),
            endpoint: first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]),
        }
    }
}

impl std::fmt::Debug for S3Settings {
    /// Omits the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Settings")
            .field("access_key_id", &self.access_key_id)
            .field("region", &self.region)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Retry;

    #[test]
    fn the_number_of_tries_is_taken_from_the_environment() {
        let tries = |value: &str| Retry::from_variables(|_| Some(value.to_owned())).failures_max;
        assert_eq!(tries(" 2 "), 2);
        for value in ["", "0", "-1", "many"] {
            assert_eq!(tries(value), Retry::default().failures_max, "{value:?}");
        }
    }
}

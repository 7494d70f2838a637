use std::process::Command;

use super::*;

/// Names the home folder in the subprocess that has hostile settings.
const INSIDE: &str = "APART_TEST_HOME";

/// User settings that would break tests of clients or redirect their requests.
const HOSTILE: [(&str, &str); 12] = [
    ("AWS_CA_BUNDLE", "/nowhere/ca.pem"),
    ("AWS_PROFILE", "production"),
    ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
    ("RCLONE_CONFIG_FACE_REGION", "mars"),
    ("RCLONE_DRY_RUN", "true"),
    ("http_proxy", "http://127.0.0.1:1"),
    ("HTTPS_PROXY", "http://127.0.0.1:1"),
    ("ALL_PROXY", "socks5://127.0.0.1:1"),
    ("REQUESTS_CA_BUNDLE", "/nowhere/ca.pem"),
    ("PYTHONPATH", "/nowhere"),
    ("WEFT_ARCHIVE", "/nowhere/archive"),
    ("XDG_CONFIG_HOME", "/nowhere/config"),
];

/// A test cannot safely change its own environment, so a second process gets the hostile one.
#[test]
fn settings_of_the_user_do_not_reach_a_child() {
    if let Some(home) = env::var_os(INSIDE) {
        return check_child(Path::new(&home));
    }
    let home = tempfile::tempdir().expect("a folder");
    let mut hostile = Command::new(env::current_exe().expect("this program"));
    hostile
        .args(["--exact", "tests::settings_of_the_user_do_not_reach_a_child"])
        .envs(HOSTILE)
        .env(INSIDE, home.path());
    let output = hostile.output().expect("it starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

fn check_child(home: &Path) {
    assert_eq!(env::var("AWS_PROFILE").as_deref(), Ok("production"));
    let output = command("env", home).output().expect("env is everywhere");
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    for (name, value) in HOSTILE {
        assert!(!seen.contains(value), "{name} reached the child:\n{seen}");
    }
    let lines: Vec<&str> = seen.lines().collect();
    assert!(
        lines.contains(&format!("HOME={}", home.display()).as_str()),
        "{seen}"
    );
    assert!(lines.iter().any(|line| line.starts_with("PATH=")), "{seen}");
    assert!(!seen.contains(INSIDE), "{seen}");
}

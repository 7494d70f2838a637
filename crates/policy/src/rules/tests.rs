use super::*;

fn read(text: &str) -> Result<Rules, RulesError> {
    let bucket = |name: &str| {
        if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
            Ok(())
        } else {
            Err(format!("bucket name {name:?}").into())
        }
    };
    let names = NameResolver {
        user: &|_| None,
        group: &|_| None,
        bucket: &bucket,
    };
    Rules::read(std::path::Path::new("rules.toml"), text, &names)
}

#[test]
fn the_ready_made_rules_can_be_read() {
    let rules = read(include_str!("../../../../docs/policies.toml")).unwrap();
    assert!(rules.policies.len() >= 5);
}

#[test]
fn errors_name_line_and_column() {
    let check = |text: &str, place: &str, part: &str| {
        let error = read(text).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("rules.toml:{place}: ")),
            "{text}: {error}"
        );
        assert!(error.contains(part), "{text}: {error}");
    };
    let policy = "[policy.a]\naction = 'delete'\n";
    check(
        &format!("{policy}condition = 'size > 1 X'\n"),
        "3:21",
        "a size such as",
    );
    check(
        &format!("{policy}condition = \"\"\"\nsize > 1 X\"\"\"\n"),
        "4:8",
        "a size such as",
    );
    check(policy, "1:1", "requires a condition");
    check("[policy.a]\naction = 'eat'", "2:10", "unknown action");
    check("[policy.a]\naction = 'copy'\nto = '/x'", "3:6", "store://");
    check(
        "[policy.a]\naction = 'copy'\nto = 'store://x'",
        "1:1",
        "requires `replicas`",
    );
    check(
        "[policy.a]\naction = 'copy'\nto = 'store://Bad_Bucket/x'\nreplicas = 1",
        "3:6",
        "bucket name \"Bad_Bucket\"",
    );
    check(
        "[policy.a]\naction = 'verify'\ntime_max = '1 h'",
        "3:12",
        "does not accept `time_max`",
    );
    check(
        "[policy.a]\naction = 'command'\ncommand = ['true']\noutput_max = '0'",
        "4:14",
        "more than 0",
    );
    check(
        "[policy.a]\naction = 'verify'\nreplicas = 2",
        "3:12",
        "does not accept `replicas`",
    );
    check("[policy.a]\naction = 'verify'\ncolour = 2", "3:1", "colour");
    check(
        "[policy.a]\naction = 'verify'\nlimits.window = '25:00-1'",
        "3:17",
        "22:00-06:00",
    );
    check(
        "[policy.a]\naction = 'verify'\ntrigger.high = '9%'",
        "1:1",
        "usage_of",
    );
    check("[policy.a]\naction = 'verify'\nscope = ['x']", "3:10", "absolute");
    check(
        "[policy.a]\naction = 'verify'\nscope = ['s3://b/x']",
        "3:10",
        "not on objects",
    );
    check(
        "[policy.a]\naction = 'move'\nto = '/x'\ncondition = 'size > 1'\n\
         trigger = { usage_of = 'volume', high = '9%', low = '8%' }",
        "1:1",
        "frees no space",
    );
    check("[class.a]\ncondition = 'class == \"a\"'", "2:23", "no class");
    check("policy = [", "1:11", "");
}

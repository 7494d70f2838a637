//! The names of this machine.
//!
//! DNS rebinding needs a name that the attacker chose and that others resolve. The machine's own
//! names are chosen by its administrator, and the machine resolves them itself, so they are safe. A
//! name with a domain assigned by the network (DHCP) is different: it is accepted only if the
//! machine's own files contain it too.

use std::sync::LazyLock;

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    names_in(
        &read("/proc/sys/kernel/hostname"),
        &read("/etc/hostname"),
        &read("/etc/hosts"),
    )
});

/// Returns the host names of this machine, without and, if known, with its domain. Empty if the
/// system does not report them.
pub(crate) fn names() -> &'static [String] {
    &NAMES
}

/// Derives the names. `current` is the present host name, `kept` the one configured for boot,
/// `hosts` the hosts file.
fn names_in(current: &str, kept: &str, hosts: &str) -> Vec<String> {
    let label = |name: &str| name.trim().split('.').next().unwrap_or("").to_ascii_lowercase();
    let mut names = vec![kept.trim().to_ascii_lowercase(), label(kept)];
    // A dot means that the network may have assigned the domain.
    if !current.trim().contains('.') {
        names.push(label(current));
    }
    names.retain(|name| !name.is_empty());
    let labels: Vec<String> = names.iter().map(|name| label(name)).collect();
    for line in hosts.lines() {
        let line = line.split('#').next().unwrap_or("").to_ascii_lowercase();
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let is_ours = |name: &&str| name.contains('.') && labels.contains(&label(name));
        if words.iter().any(|word| names.iter().any(|name| name == word)) {
            names.extend(words.into_iter().filter(is_ours).map(str::to_owned));
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(current: &str, kept: &str, hosts: &str, expected: &[&str]) {
        assert_eq!(names_in(current, kept, hosts), expected);
    }

    #[test]
    fn names_come_alone_and_with_their_domain() {
        let hosts = "127.0.0.1 localhost\n# 10.0.0.1 vm.no.example vm\n127.0.1.1\tVM.example.org vm other # vm.not.example\n";
        check("vm\n", "vm\n", hosts, &["vm", "vm.example.org"]);
        check(
            "vm.example.org\n",
            "vm.example.org\n",
            "",
            &["vm", "vm.example.org"],
        );
        check("", "", "127.0.0.1 evil.example\n", &[]);
    }

    #[test]
    fn a_domain_given_by_the_network_is_not_believed() {
        check("vm.evil.example\n", "", "", &[]);
        check("vm.evil.example\n", "vm\n", "127.0.0.1 evil.example\n", &["vm"]);
        check("lent\n", "", "", &["lent"]);
    }
}

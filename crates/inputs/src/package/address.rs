//! Addresses of members of packages: `wacz://` before the absolute path of a package, or `wacz+`
//! before its address, then `#` and the name of the member, repeated for a package in a package. In
//! all parts `%` and `#` are written as `%25` and `%23`, so that every `#` is a separator.

use crate::path::is_address;

/// Prefix of addresses of members of packages that are local files.
const FILE_SCHEME: &str = "wacz://";

/// Prefix of addresses of members of packages at other addresses.
const ADDRESS_MARK: &str = "wacz+";

/// Returns whether an address is that of a member of a package.
pub(crate) fn is_member(address: &str) -> bool {
    (address.starts_with(FILE_SCHEME) || address.starts_with(ADDRESS_MARK)) && address.contains('#')
}

/// Returns whether an address is that of a member of a package (WACZ) in a local file.
pub fn is_local_member(address: &str) -> bool {
    is_member(address) && address.starts_with(FILE_SCHEME)
}

/// Returns whether a file is a package by its name.
pub(crate) fn is_package_name(name: &[u8]) -> bool {
    let extension = name.len().checked_sub(5).map(|at| &name[at..]);
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case(b".wacz"))
}

/// Returns whether a file is a list of packages by its name, or by its address without the query
/// string.
pub(crate) fn is_package_list_name(name: &[u8]) -> bool {
    let name = name.split(|byte| *byte == b'?').next().unwrap_or_default();
    let extension = name.len().checked_sub(5).map(|at| &name[at..]);
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case(b".json"))
}

/// Returns the address of a member of a package. The package is the text of an absolute path, an
/// address, or itself a member.
pub(in super::super) fn of_member(package: &str, member: &str) -> String {
    let package = match package {
        package if is_member(package) => package.to_owned(),
        package if is_address(package) => format!("{ADDRESS_MARK}{}", escaped(package)),
        path => format!("{FILE_SCHEME}{}", escaped(path)),
    };
    format!("{package}#{}", escaped(member))
}

/// Splits the address of a member into its package, in the form that [`of_member`] accepts, and the
/// member's name.
pub(super) fn parts(address: &str) -> Option<(String, String)> {
    let (package, member) = address.rsplit_once('#')?;
    let package = match package
        .strip_prefix(FILE_SCHEME)
        .or_else(|| package.strip_prefix(ADDRESS_MARK))?
    {
        _ if package.contains('#') => package.to_owned(),
        outermost => unescaped(outermost),
    };
    Some((package, unescaped(member)))
}

/// Returns the package and the name of a member; `None` if the address is not one of a member.
pub(in super::super) fn member_parts(address: &str) -> Option<(String, String)> {
    is_member(address).then(|| parts(address)).flatten()
}

/// Returns the outermost package that contains a package or a member: an address, or the text of a
/// path.
pub(in super::super) fn outermost(package: &str) -> String {
    let mut package = package.to_owned();
    while let Some((outer, _)) = member_parts(&package) {
        package = outer;
    }
    package
}

/// Returns an address without user name, password and signature. For a member, those of its package
/// are removed.
pub fn without_secrets(address: &str) -> String {
    match member_parts(address) {
        Some((package, member)) => of_member(&without_secrets(&package), &member),
        None => urlkey::without_secrets(address).into_owned(),
    }
}

/// Returns the name of a member in the ledger.
pub(super) fn name_of_member(package: &str, member: &str) -> String {
    format!("{package}#{}", format::file_name::name_text(member.as_bytes()))
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('#', "%23")
}

fn unescaped(text: &str) -> String {
    text.replace("%23", "#").replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_parts() {
        let packages = [
            "/a/x.wacz",
            "/a/50%23 #1.wacz",
            "https://h/a%20b.wacz?q#f",
            "s3://b/x.wacz",
        ];
        for package in packages {
            for member in ["archive/data.warc.gz", "archive/#1%23%25.warc", "inner.wacz"] {
                let address = of_member(package, member);
                assert!(is_member(&address) && crate::is_address(&address), "{address}");
                assert_eq!(parts(&address), Some((package.to_owned(), member.to_owned())));
                let nested = of_member(&address, member);
                assert_eq!(parts(&nested), Some((address, member.to_owned())));
                assert_eq!(is_local_member(&nested), package.starts_with('/'));
            }
        }
        assert!(!is_member("https://h/x#y") && !is_member("/wacz/x#y"));
        assert!(is_package_name(b"x.WACZ") && !is_package_name(b"wacz"));
    }
}

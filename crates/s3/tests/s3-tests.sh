#!/bin/sh
# Ceph's public s3-tests (github.com/ceph/s3-tests) against the face: s3-tests.sh CHECKOUT [PYTEST-ARGUMENTS]
#
# Needs a Python with the checkout's requirements, pytest-timeout and pytest-xdist (PYTHON, default python3). Builds the
# example `serve` unless SERVE names it, starts it over two temporary volumes, and writes one line a test to
# s3-tests.log. What is not in scope at all and only waits (lifecycle, logging, cloud tiers) is left out.
set -eu
[ $# -ge 1 ] || { echo "usage: $0 CHECKOUT [PYTEST-ARGUMENTS]" >&2; exit 2; }
checkout=$1; shift
log=$PWD/s3-tests.log
if [ -z "${SERVE:-}" ]; then
    cargo build --release -p s3 --example serve
    SERVE=${CARGO_TARGET_DIR:-target}/release/examples/serve
fi
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT
{
    for user in main alt tenant iam root altroot; do
        printf '[keys.S3TESTS%s]\nsecret = "secret-of-%s"\nuser = "%s"\n' "$user" "$user" "$user"
        printf 'email = "%s@example.org"\nrights = { "*" = ["own"] }\n\n' "$user"
    done
} > "$dir/keys.toml"
# Its forms are signed by version 2.
WEFT_S3_VERSION_2=1 "$SERVE" 127.0.0.1:0 "$dir/keys.toml" "$dir/one" "$dir/two" > "$dir/address" &
server=$!
until [ -s "$dir/address" ]; do kill -0 "$server"; sleep 0.1; done
port=$(sed -n '1s/.*://p' "$dir/address")
section() {
    printf '[%s]\ndisplay_name = %s\nuser_id = %s\nemail = %s@example.org\n' "$1" "$2" "$2" "$2"
    printf 'access_key = S3TESTS%s\nsecret_key = secret-of-%s\n%s\n' "$2" "$2" "${3:-}"
}
{
    printf '[DEFAULT]\nhost = 127.0.0.1\nport = %s\nis_secure = False\nssl_verify = False\n' "$port"
    printf '[fixtures]\nbucket prefix = s3t-{random}-\niam name prefix = s3-tests-\niam path prefix = /s3-tests/\n'
    section 's3 main' main 'api_name = default'
    section 's3 alt' alt
    section 's3 tenant' tenant 'tenant = tenant'
    section iam iam
    section 'iam root' root
    section 'iam alt root' altroot
} > "$dir/s3tests.conf"
cd "$checkout"
S3TEST_CONF=$dir/s3tests.conf "${PYTHON:-python3}" -m pytest s3tests/functional/test_s3.py -q -rA --tb=line \
    -p no:cacheprovider --timeout 60 -n "${JOBS:-4}" \
    -m 'not (lifecycle or lifecycle_expiration or lifecycle_transition or bucket_logging or cloud_transition or cloud_restore)' \
    "$@" > "$log" 2>&1 || true
grep -E '^(PASSED|FAILED|ERROR)' "$log" | sed 's/ - .*//' | sort | cut -d' ' -f1 | uniq -c

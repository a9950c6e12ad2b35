# SPDX-License-Identifier: MIT OR Apache-2.0
# Sourced by run: stress-ng's stressors of files, with --verify, on a mount. `set -e` is on.
# shellcheck shell=bash disable=SC2154
# Not among them: what FUSE or this file system does not have (acl, xattr, chattr, fiemap, verity, lease, quota, file-ioctl),
# and what needs another kind of file system.
stressors="access chdir chmod chown copy-file dentry dir dirdeep dirmany dup fallocate fcntl filename flock fpunch fstat
    getdent hdd inode-flags io iomix link locka lockf lockofd mknod msync open readahead rename revio seek sendfile symlink
    sync-file touch unlink utime"

test_stress_ng() {
    have stress-ng || { skip "stress-ng: not installed"; return; }
    local bad='' count=0 blocks
    blocks=$(blocks_free)
    for stressor in $stressors; do
        stress-ng --"$stressor" 0 >/dev/null 2>&1 --help || { skip "stress-ng $stressor: this version has none" || continue; }
        if ! timeout 120 stress-ng --temp-path "$mnt" --"$stressor" 2 --verify -t "$seconds" --hdd-bytes 32m --seek-size 8m \
            --iomix-bytes 32m --revio-bytes 16m --copy-file-bytes 128m --readahead-bytes 16m --fallocate-bytes 16m \
            --sync-file-bytes 16m --sendfile-size 1m --dirdeep-inodes 200 >"$work/log" 2>&1; then
            bad="$bad $stressor"
            cat "$work/log" >&2
        fi
        count=$((count + 1))
        [ -z "$(ls -A "$mnt")" ] || { fail "$stressor leaves files: $(ls -A "$mnt" | head -3)"; bad="$bad $stressor"; rm -rf "${mnt:?}"/*; }
    done
    say "  $count stressors of stress-ng for $seconds s each"
    becomes blocks_free "$blocks"
    [ -z "$bad" ] || fail "stress-ng:$bad"
}

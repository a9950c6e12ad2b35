# SPDX-License-Identifier: MIT OR Apache-2.0
# Sourced by run: git's own tests. Its source package is downloaded, built on the mount and tested there.
# shellcheck shell=bash disable=SC2154
scripts=${CF_FUSE_GIT_TESTS:-t0001-init t1300-config t1400-update-ref t2200-add-update t4000-diff-format t5300-pack-object
    t7001-mv t7004-tag t7300-clean}

options_git_suite="--size 1500m"
test_git_suite() {
    [ -z "${CF_FUSE_SHORT-}" ] || { skip "git's own tests: CF_FUSE_SHORT is set"; return; }
    have perl && have dpkg-source && [ -e /usr/include/zlib.h ] ||
        { skip "git's own tests: perl, dpkg-dev or zlib1g-dev is not installed"; return; }
    local version why
    version=$(dpkg-query -W -f '${source:Version}' git 2>/dev/null) || { skip "git's own tests: no Debian package of git"; return; }
    why=$("$kit/../tests/suites/fetch" git "$version" "$work/source" 2>&1) || { skip "git's own tests: $why"; return; }
    tar xf "$work"/source/git_*.orig.tar.xz
    cd git-*/
    make -s -j2 NO_OPENSSL=1 NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PYTHON=1 CFLAGS=-O0 >"$work/log" 2>&1 ||
        { tail "$work/log" >&2; fail "git does not build on the mount"; }
    cd t
    for script in $scripts; do
        timeout 300 "./$script.sh" -q >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; fail "git's $script"; }
        say "  git's $script: $(tail -n 1 "$work/log")"
    done
}

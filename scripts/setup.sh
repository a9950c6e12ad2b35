#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs the packages that a make target needs and that are missing:
#   scripts/setup.sh build | test | test-all | bench | install
# Prints what it is about to install before it does so.
set -eu
cd "$(dirname "$0")/.."

say() { echo "setup: $*" >&2; }
fail() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# The Debian packages of the tools that a target calls.
packages=
# Packages that not every distribution has: tests that need one are skipped without it, and print so.
optional=
need() { packages="$packages $1"; }

has_header() { echo "#include <$1>" | gcc -fsyntax-only -x c - 2>/dev/null; }

have gcc || need gcc
has_header pthread.h || need libc6-dev
if [ "$1" = test ]; then
    have g++ || need g++
    have cmake || need cmake
    # For programs that are built with TSan; gcc prints the bare name of a file that it does not have.
    [ -e "$(gcc -print-file-name=libtsan.so 2>/dev/null)" ] || need "libgcc-$(gcc -dumpversion 2>/dev/null || echo 12)-dev"
    # For programs that use another allocator.
    [ -e /usr/lib/x86_64-linux-gnu/libjemalloc.a ] || optional="$optional libjemalloc-dev"
    [ -e /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.a ] || optional="$optional libgoogle-perftools-dev"
    # For the file-system half of the kit.
    has_header urcu/urcu-memb.h || optional="$optional liburcu-dev"
    # pahole, which `corefold layout` is compared with.
    have pahole || optional="$optional dwarves"
    # Unpacks the source packages of public test suites, which apt-get downloads.
    have dpkg-source || optional="$optional dpkg-dev"
    # Test programs are built with gcc and with these.
    have clang-14 || optional="$optional clang-14"
    have clang-19 || optional="$optional clang-19"
    # The sanitisers' runtime of clang, for the kit.
    ls /usr/lib/llvm-19/lib/clang/19/lib/*/libclang_rt.tsan*.a >/dev/null 2>&1 || optional="$optional libclang-rt-19-dev"
    # The OpenMP runtime of clang; only one version can be installed at a time.
    ls /usr/lib/llvm-14/lib/libomp.so >/dev/null 2>&1 || optional="$optional libomp-14-dev"
fi
if [ "$1" = test-all ]; then
    # corefold-fs, and the programs that are run on it.
    has_header urcu/urcu-bp.h || optional="$optional liburcu-dev"
    [ -e /usr/include/fuse3/fuse.h ] || optional="$optional libfuse3-dev"
    have pkg-config || optional="$optional pkg-config"
    have fusermount3 || optional="$optional fuse3"
    have git || optional="$optional git"
    have fio || optional="$optional fio"
    have stress-ng || optional="$optional stress-ng"
    have python3 || optional="$optional python3"
    # The kit is compiled for other processors.
    have aarch64-linux-gnu-gcc || optional="$optional gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
    have riscv64-linux-gnu-gcc || optional="$optional gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"
    # git's own tests are built from its source package.
    have perl || optional="$optional perl"
    have make || optional="$optional make"
    have dpkg-source || optional="$optional dpkg-dev"
    [ -e /usr/include/zlib.h ] || optional="$optional zlib1g-dev"
fi
if [ "$1" = install ]; then
    have cmake || need cmake
    have make || need make
fi
if [ "$1" = bench ]; then
    have bc || need bc
    # bench/layout
    have pahole || optional="$optional dwarves"
    [ -x /usr/bin/time ] || optional="$optional time"
fi

as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
apt() { DEBIAN_FRONTEND=noninteractive $as_root apt-get -q "$@"; }

if [ -n "$packages$optional" ] && have apt-get && { [ -z "$as_root" ] || have sudo; }; then
    # A fresh image has no lists of packages.
    if [ -n "$packages" ] || ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; then
        say "updating apt's package lists, to install:$packages$optional"
        apt update
    fi
    for package in $optional; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            need "$package"
        else
            say "apt has no package $package: the tests that need it are skipped"
        fi
    done
    if [ -n "$packages" ]; then
        say "installing with apt-get:$packages"
        # shellcheck disable=SC2086 # words, on purpose
        apt install -y --no-install-recommends $packages
    fi
elif [ -n "$packages" ]; then
    fail "missing packages; install them as root: apt-get install$packages"
elif [ -n "$optional" ]; then
    say "the tests that need$optional are skipped: not installed"
fi

# The toolchain that rust-toolchain.toml names. rustup fetches it; any other cargo must be new enough.
wanted=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
have cargo || fail "cargo is missing: see https://rustup.rs"
if have rustup; then
    if ! rustup run "$wanted" cargo fmt --version >/dev/null 2>&1 ||
        ! rustup run "$wanted" cargo clippy --version >/dev/null 2>&1; then
        say "installing Rust $wanted with rustup"
        rustup toolchain install "$wanted" --profile minimal --component rustfmt --component clippy
    fi
else
    version=$(cargo --version | cut -d ' ' -f 2)
    oldest=$(printf '%s\n%s\n' "$wanted" "$version" | sort -V | head -n 1)
    [ "$oldest" = "$wanted" ] ||
        fail "cargo is version $version; corefold needs $wanted or later: see https://rustup.rs"
fi

#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs what a make target needs beside a C compiler and cargo, and only what is missing:
#   scripts/setup.sh build | test | bench | install
# Says what it is about to do before it does it.
set -eu
cd "$(dirname "$0")/.."

say() { echo "setup: $*" >&2; }
fail() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# The Debian packages that stand for the tools a target calls.
packages=
# Those that not every distribution has: without them, tests are left out and say so.
optional=
need() { packages="$packages $1"; }

have gcc || need gcc
echo '#include <pthread.h>' | gcc -fsyntax-only -x c - 2>/dev/null || need libc6-dev
if [ "$1" = test ]; then
    have g++ || need g++
    have cmake || need cmake
    # Programs that are built with TSan; gcc prints the bare name of what it has not.
    [ -e "$(gcc -print-file-name=libtsan.so 2>/dev/null)" ] || need "libgcc-$(gcc -dumpversion 2>/dev/null || echo 12)-dev"
    # Programs with another allocator.
    [ -e /usr/lib/x86_64-linux-gnu/libjemalloc.a ] || optional="$optional libjemalloc-dev"
    [ -e /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.a ] || optional="$optional libgoogle-perftools-dev"
    # Programs are built with gcc and with these.
    have clang-14 || optional="$optional clang-14"
    have clang-19 || optional="$optional clang-19"
    # The sanitisers' runtime of clang, for the kit.
    ls /usr/lib/llvm-19/lib/clang/19/lib/*/libclang_rt.tsan*.a >/dev/null 2>&1 || optional="$optional libclang-rt-19-dev"
    # Their OpenMP; one version of it can be there at a time.
    ls /usr/lib/llvm-14/lib/libomp.so >/dev/null 2>&1 || optional="$optional libomp-14-dev"
fi
if [ "$1" = install ]; then
    have cmake || need cmake
    have make || need make
fi
if [ "$1" = bench ]; then
    have bc || need bc
fi

as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
apt() { DEBIAN_FRONTEND=noninteractive $as_root apt-get -q "$@"; }

if [ -n "$packages$optional" ] && have apt-get && { [ -z "$as_root" ] || have sudo; }; then
    # A fresh image has no lists of packages.
    if [ -n "$packages" ] || ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; then
        say "asking apt-get what there is, for:$packages$optional"
        apt update
    fi
    for package in $optional; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            need "$package"
        else
            say "apt has no $package: tests with it are left out"
        fi
    done
    if [ -n "$packages" ]; then
        say "installing with apt-get:$packages"
        # shellcheck disable=SC2086 # words, on purpose
        apt install -y --no-install-recommends $packages
    fi
elif [ -n "$packages" ]; then
    fail "please install, as root: apt-get install$packages"
elif [ -n "$optional" ]; then
    say "tests with$optional are left out: not installed"
fi

# The toolchain that rust-toolchain.toml names. rustup fetches it; any other cargo must be new enough.
wanted=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
have cargo || fail "cargo is missing: https://rustup.rs installs it"
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
        fail "cargo is $version, and corefold needs $wanted or later: https://rustup.rs installs it"
fi

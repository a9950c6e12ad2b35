# SPDX-License-Identifier: MIT OR Apache-2.0
# Sourced by run: programs that people use, on a mount. `set -e` is on.
# shellcheck shell=bash disable=SC2154

options_arguments=none
test_arguments() {
    "$fs" --help | grep -q 'Examples:'
    local text
    for wrong in "" "--size 0 $mnt" "--size 12q $mnt" "--size 101% $mnt" "--inodes -1 $mnt" "--mode 9 $mnt" "--cache x $mnt" \
        "--threads 0 $mnt" "$work/nothing" "--passthrough $work/nothing $mnt" "--passthrough $work $mnt" \
        "--passthrough / --size 1m $mnt" "$mnt $mnt" "--nonsense $mnt" "-o nonsense $mnt" "--size 1 $mnt"; do
        # shellcheck disable=SC2086 # words, on purpose
        if text=$("$fs" $wrong 2>&1); then fail "not refused: $wrong"; fi
        [ -n "$text" ] || fail "no message for: $wrong"
    done
    ! mountpoint -q "$mnt"
}

# Without -f it returns when the mount is there, and SIGTERM ends it.
options_background=none
test_background() {
    "$fs" --size 1m "$mnt"
    mountpoint -q "$mnt"
    echo text >"$mnt/file"
    local pid
    pid=$(pgrep -f "^$fs --size 1m $mnt\$")
    kill "$pid"
    for _ in $(seq 100); do
        [ -e "/proc/$pid/cmdline" ] && [ -n "$(tr -d '\0' <"/proc/$pid/cmdline")" ] || break # a zombie has none
        sleep 0.05
    done
    [ -z "$(tr -d '\0' <"/proc/$pid/cmdline" 2>/dev/null)" ] || fail "the server outlives SIGTERM"
    if mountpoint -q "$mnt"; then fail "still mounted"; fi
}

git_here() { git -c user.name=test -c user.email=test@example.org -c init.defaultBranch=main -c gc.auto=0 "$@"; }

test_git() {
    have git || { skip "git: not installed"; return; }
    git_here init -q first
    cp -r "$kit/src" "$kit/include" first
    (cd first && git_here add . && git_here commit -qm one && git_here mv src lib && git_here commit -qam two &&
        git_here tag one HEAD~1 && [ -z "$(git_here status --porcelain)" ])
    git_here clone -q first second # by hard links
    git_here clone -q --no-local first third
    diff -r -x .git first second
    diff -r -x .git first third
    (cd second && git_here checkout -q one && [ -d src ] && [ ! -e lib ] && git_here checkout -q main &&
        echo change >>lib/cpu.c && git_here commit -qam three && git_here push -q origin HEAD:refs/heads/pushed)
    (cd first && git_here merge -q pushed && git_here gc -q --prune=now && git_here fsck --full --strict >/dev/null &&
        [ "$(git_here rev-parse HEAD)" = "$(git_here rev-parse pushed)" ])
    rm -rf first second third
}

test_copies() {
    mkdir tree
    cp -a "$kit/." tree
    diff -r "$kit" tree
    ln -s ../tree/Makefile tree/link
    ln tree/Makefile tree/hard
    mkfifo tree/fifo
    tar cf tree.tar tree
    mkdir out
    tar xf tree.tar -C out
    diff -r --no-dereference -x fifo tree out/tree
    [ -p out/tree/fifo ]
    [ "$(stat -c %h out/tree/hard)" = 2 ]
    [ out/tree/hard -ef out/tree/Makefile ]
    cp -r --sparse=always tree copy 2>/dev/null || [ -p copy/fifo ]
    mv copy out/moved
    (cd tree && find . -type f -exec sha256sum {} +) >sums
    (cd out/moved && sha256sum --quiet -c ../../sums)
    find out -name '*.c' -delete
    rm -rf tree out tree.tar sums
    [ -z "$(ls -A)" ]
}

test_compile() {
    cp -r "$kit" kit
    make -s -j2 -C kit OUT=build build/libcorefold_kit.a build/cf_fill
    kit/build/cf_fill 1000 1 >/dev/null # a program that lies on the mount
    make -s -C kit OUT=build build/libcorefold_kit.a | grep . && fail "make builds what is built: times are wrong"
    touch kit/src/cpu.c
    make -n -C kit OUT=build build/libcorefold_kit.a | grep -q cpu.o
}

test_fio() {
    have fio || { skip "fio: not installed"; return; }
    local common="--directory=. --size=24m --verify=crc32c --verify_fatal=1 --minimal --numjobs=2"
    for engine in psync mmap sync; do
        # shellcheck disable=SC2086 # words, on purpose
        fio --name=$engine --ioengine=$engine --rw=randrw --bsrange=512-64k --ba=512 $common >fio.log 2>&1 ||
            { cat fio.log >&2; fail "fio $engine"; }
    done
    # shellcheck disable=SC2086
    fio --name=direct --ioengine=psync --direct=1 --rw=write --bs=128k $common >fio.log 2>&1 || { cat fio.log >&2; fail direct; }
}

# What a server that knows files by their paths gets wrong.
test_removed_files() {
    python3 - <<'END'
import os, stat
def make(name): return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
os.mkdir("d"); f = make("d/f"); os.write(f, b"bytes")
os.unlink("d/f")
assert os.listdir("d") == [] and os.fstat(f).st_nlink == 0 and os.fstat(f).st_size == 5
os.rmdir("d")
os.ftruncate(f, 3); os.fchmod(f, 0o600); os.utime(f, ns=(10**9, 2 * 10**9))
s = os.fstat(f); assert stat.S_IMODE(s.st_mode) == 0o600 and s.st_mtime_ns == 2 * 10**9 and s.st_size == 3
assert os.pread(f, 10, 0) == b"byt"
assert os.read(os.open("/proc/self/fd/%d" % f, os.O_RDONLY), 9) == b"byt"
a = make("a"); b = make("b"); os.write(b, b"new")
os.rename("b", "a")                       # over an open file
assert os.fstat(a).st_nlink == 0 and os.path.getsize("a") == 3
os.link("a", "c"); os.rename("a", "c")    # two names of one file: nothing happens
assert sorted(os.listdir(".")) == ["a", "c"] and os.stat("a").st_ino == os.stat("c").st_ino
os.unlink("c"); assert os.stat("a").st_nlink == 1
os.write(b, b"er"); assert os.path.getsize("a") == 5
END
}

# The places that a reader of a directory remembers stay good while others change it.
test_readdir() {
    python3 - <<'END'
import os, ctypes
for i in range(3000): os.close(os.open("f%d" % i, os.O_CREAT))
seen, it = set(), os.scandir(".")
for n, entry in enumerate(it):
    assert entry.name not in seen; seen.add(entry.name)
    if n % 3 == 0: os.unlink(entry.name)
    if n % 5 == 0: os.close(os.open("new%d" % n, os.O_CREAT))
missing = [i for i in range(3000) if "f%d" % i not in seen]
assert not missing, missing[:5]
libc = ctypes.CDLL(None)
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
d = ctypes.c_void_p(libc.opendir(b"."))
def name():
    p = libc.readdir(d); return ctypes.string_at(p + 19) if p else None
places = []
while True:
    place = libc.telldir(d); n = name()
    if n is None: break
    places.append((place, n))
assert len(places) > 2000
for place, n in places[::37] + places[::-53]:
    libc.seekdir(d, ctypes.c_long(place)); assert name() == n
END
    rm -rf ./*
}

test_permissions() {
    [ "$(id -u)" = 0 ] || { skip "permissions: not root"; return; }
    as() { setpriv --reuid="$1" --regid="$1" "${@:2}"; }
    mkdir -m 1777 shared; mkdir -m 700 closed; mkdir -m 2770 team; chgrp 5000 team
    as 1000 --clear-groups touch shared/his
    [ "$(stat -c %u:%g shared/his)" = 1000:1000 ]
    if as 1001 --clear-groups rm -f shared/his 2>/dev/null; then fail "sticky bit"; fi
    if as 1001 --clear-groups chmod 777 shared/his 2>/dev/null; then fail "another's mode"; fi
    if as 1000 --clear-groups ls closed 2>/dev/null; then fail "a closed directory"; fi
    if as 1000 --clear-groups touch team/x 2>/dev/null; then fail "a group that he is not in"; fi
    as 1000 --groups 77,5000 touch team/x
    [ "$(stat -c %g team/x)" = 5000 ]
    as 1000 --clear-groups sh -c 'umask 027; touch shared/u; mkdir shared/d'
    [ "$(stat -c %a shared/u shared/d | tr '\n' ' ')" = '640 750 ' ]
    cp /bin/true shared/run; chmod 711 shared/run
    as 1000 --clear-groups shared/run # it may be executed, and not read
    if as 1000 --clear-groups cat shared/run >/dev/null 2>&1; then fail "read without permission"; fi
    chmod 4755 shared/his; as 1000 --clear-groups sh -c 'echo >>shared/his'
    sleep 1.1
    [ "$(stat -c %a shared/his)" = 755 ]
}

options_passthrough="--passthrough $work/below"
test_passthrough() {
    test_git
    (test_copies)
    test_removed_files
    rm -f a
    test_permissions
    mkdir tree
    cp -a "$kit/." tree
    diff -r tree "$work/below/tree"
    [ "$(find . | wc -l)" = "$(cd "$work/below" && find . | wc -l)" ]
    [ "$(df --output=size . | tail -1)" = "$(df --output=size "$work/below" | tail -1)" ]
}

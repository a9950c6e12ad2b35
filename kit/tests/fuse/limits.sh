# SPDX-License-Identifier: MIT OR Apache-2.0
# Sourced by run: what df says is so, to the last block and the last inode. `set -e` is on.
# shellcheck shell=bash disable=SC2154

blocks_free() { stat -f -c %f "$mnt"; }
inodes_free() { stat -f -c %d "$mnt"; }
# What is closed is released a moment later.
becomes() { # COMMAND VALUE
    for _ in $(seq 100); do
        [ "$($1)" = "$2" ] && return
        sleep 0.05
    done
    fail "$1: $($1), not $2"
}

options_blocks="--size 16m --inodes 1000"
test_blocks() {
    local before written used
    before=$(blocks_free)
    [ "$(df --output=size -B 4096 "$mnt" | tail -1)" -eq 4096 ]
    if head -c 64M /dev/zero >full 2>"$work/message"; then fail "more than there is"; fi
    grep -q 'No space left' "$work/message"
    written=$(stat -c %s full)
    # What is left is less than a page and what its entry in the tree may cost.
    [ "$(blocks_free)" -le 1 ] || fail "ENOSPC, but $(blocks_free) blocks are free"
    used=$((before - $(blocks_free)))
    [ $((written / 4096)) -ge $((used - used / 64 - 8)) ] || fail "$written bytes written, $used blocks used"
    [ $((written / 4096)) -eq $(($(stat -c %b full) / 8)) ]
    [ "$(df --output=pcent "$mnt" | tail -1 | tr -d ' %')" = 100 ]
    # Block by block: as many fit as df says, to within one.
    truncate -s $((written - 40960)) full
    local free fits=0
    free=$(blocks_free)
    while head -c 4096 /dev/zero >>full 2>/dev/null; do fits=$((fits + 1)); done
    [ $fits -ge $((free - 1)) ] && [ $fits -le "$free" ] || fail "df: $free blocks, $fits fit"
    rm full
    becomes blocks_free "$before"
}

options_inodes="--size 16m --inodes 500"
test_inodes() {
    local before made=0
    before=$(inodes_free)
    [ "$(df --output=itotal "$mnt" | tail -1)" -eq 500 ]
    [ "$before" = 499 ] # the root has one
    while touch "f$made" 2>/dev/null; do
        made=$((made + 1))
        [ "$(inodes_free)" = $((before - made)) ] || fail "df -i after $made files: $(inodes_free)"
    done
    [ $made = "$before" ] || fail "df -i: $before inodes, $made files"
    ln f0 other # costs none
    if mkdir d 2>/dev/null; then fail "a directory without an inode"; fi
    rm f0
    [ "$(inodes_free)" = 0 ]
    rm other
    becomes inodes_free 1
    mkdir d
    rm -rf ./*
    becomes inodes_free "$before"
}

options_enospc="--size 4m --inodes 5000"
test_enospc() { # many at once, at the limit: nothing is lost
    local blocks inodes
    blocks=$(blocks_free)
    inodes=$(inodes_free)
    for _ in 1 2 3; do
        for i in 1 2 3 4; do
            (mkdir "d$i" && for j in $(seq 300); do head -c 9000 /dev/urandom >"d$i/$j" || break; done) 2>/dev/null &
        done
        wait $(jobs -p | grep -vx "$server")
        [ "$(blocks_free)" -le 8 ] || fail "not full: $(blocks_free)"
        rm -rf d1 d2 d3 d4
        becomes blocks_free "$blocks"
        becomes inodes_free "$inodes"
    done
}

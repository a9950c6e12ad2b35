# SPDX-License-Identifier: MIT OR Apache-2.0
# Sourced by the other scripts. $work is a folder of theirs.
# shellcheck shell=bash disable=SC2154

# CPU seconds (user + system) of a command, children included.
seconds() {
    local spent
    spent=$( (TIMEFORMAT=%U+%S; time "$@" >"$work/out" 2>"$work/err") 2>&1) || { cat "$work/err" >&2; return 1; }
    tail -n 1 <<<"$spent" | bc -l
}
median() { sort -g | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# Accesses that the lock says it made in the last run; of the other programs it is always as many.
accesses() { cat "$work/err" "$work/out" | awk 'NF == 2 && /^[0-9]+ [0-9]+$/ { print $2; exit }'; }

#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# The demonstration: demo/run.sh COREFOLD [PROFILE]. PROFILE is this host's, as `corefold machine calibrate` measures it;
# without it, it is measured here.
set -eu
corefold=$(realpath "$1")
host=${2:+$(realpath "$2")}
cd "$(dirname "$0")"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cores=$(nproc)
repetitions=11
bold=; plain=
if [ -t 1 ]; then bold=$(printf '\033[1m'); plain=$(printf '\033[0m'); fi

say() { printf '\n%s\n\n' "$bold$1$plain"; }
typed() { echo "  \$ $*"; }

# Prints the report of a simulated program.
simulate() {
    typed corefold run --cpus 1,2,4,8-80:8 -- "./$1" '{cpus}'
    echo
    "$corefold" run --cpus 1,2,4,8-80:8 -o "$place/$1.rec" -- "$place/$1" '{cpus}' \
        2> "$place/errors" > "$place/$1.report" || { cat "$place/errors" "$place/$1.report"; exit 1; }
    sed "s/^$1 {cpus}/.\/&/; s/^./  &/" "$place/$1.report"
}

# Native throughput in million requests per second: the median of a few runs, long enough that it does not matter if the threads
# start on one CPU.
natively() {
    for _ in $(seq $repetitions); do "$place/$1.native" "$2" 5000000; done |
        cut -d ' ' -f 1 | sort -n | sed -n "$((repetitions / 2 + 1))p"
}

# Simulated throughput on the machine calibrated from this host, from the JSON report. The last "cpus" before a
# "throughput" is that of the same run.
simulated() {
    awk -v cpus="$2," '/"cpus":/ { at = $2 } /"throughput":/ && at == cpus { printf "%.1f", $2 / 1e6 }' "$place/$1.host.json"
}

# One row of the comparison: threads, then broken, fixed and their ratio, native and simulated.
compare() {
    echo "$1 $(natively counters "$1") $(natively counters_fixed "$1")" \
        "$(simulated counters "$1") $(simulated counters_fixed "$1")" | awk '
        function ratio(broken, fixed) { return broken + 0 > 0 ? sprintf("%.1f×", fixed / broken) : " -" }
        { printf "  %7d %12s %8s %8s %14s %8s %8s\n", $1, $2, $3, ratio($2, $3), $4, $5, ratio($4, $5) }'
}

say "1. A request counter: one slot per thread, no locks. Does it scale?"
typed corefold cc -O2 -g -pthread -o counters demo/counters.c
for program in counters counters_fixed; do
    "$corefold" cc -O2 -g -pthread -o "$place/$program" "$program.c"
    gcc -O2 -I ../crates/driver/include -pthread -o "$place/$program.native" "$program.c"
done
simulate counters

say "2. The slots of 16 threads share a cache line. With one line per slot:"
typed diff demo/counters.c demo/counters_fixed.c
diff -U 1 counters.c counters_fixed.c | sed -e 1,2d -e 's/^/  /' || true

say "3. The same run again:"
simulate counters_fixed | sed '/speed-up (dotted/,$d'

say "4. The same programs on this host, native and simulated (million requests/s; native: median of $repetitions)"
if [ -z "$host" ]; then
    host=$place/host.toml
    typed corefold machine calibrate
    echo "  (under a minute)"
    "$corefold" machine calibrate -o "$host" > "$place/errors" 2>&1 || { cat "$place/errors"; exit 1; }
fi
counts=1
for threads in 2 4 8 16; do if [ "$threads" -le "$cores" ]; then counts=$counts,$threads; fi; done
typed corefold run --machine host --cpus "$counts" -- ./counters '{cpus}'
for program in counters counters_fixed; do
    "$corefold" run --machine "$host" --cpus "$counts" -o "$place/host.rec" --json "$place/$program.host.json" \
        -- "$place/$program" '{cpus}' > "$place/errors" 2>&1 || { cat "$place/errors"; exit 1; }
done
echo
echo "           ----- native, this host -----    ------ --machine host -----"
echo "  threads       broken    fixed    ratio         broken    fixed    ratio"
for threads in $(echo "$counts" | tr , ' '); do compare "$threads"; done
echo
load=$(cut -d ' ' -f 1 /proc/loadavg)
echo "  (The native programs are built by gcc -O2, without instrumentation. Native results vary with the load of the host,"
echo "  whose load average is now $load. Simulated results are the same in every run with the same profile.)"

# Throughput of each kind of counter, in million blocks per second.
rates() { awk '/million blocks/ { printf "%s %s\n", $1, $2 }'; }

say "5. A file system's free-block counter: all CPUs allocate until no block is free, then free all. Which counter? (million blocks/s)"
fill=$(cd .. && pwd)/kit
sources="$fill/examples/cf_fill.c $(echo "$fill"/src/*.c)"
# shellcheck disable=SC2086 # words, on purpose
"$corefold" cc -O2 -g -pthread -I "$fill/include" $sources -o "$place/fill"
# shellcheck disable=SC2086 # words, on purpose
gcc -O2 -std=c11 -pthread -I "$fill/include" $sources -o "$place/fill.native"
"$place/fill.native" 2000000 5 | rates > "$place/fill.0"
for cpus in 1 8 16; do
    "$corefold" run --cpus "$cpus" -o "$place/fill.rec" -- "$place/fill" 40000 1 2>&1 | rates > "$place/fill.$cpus"
done
echo "              this host,   ------- simulated -------"
printf '  %-10s %5d cores     1 CPU    8 CPUs   16 CPUs\n' counter "$cores"
paste -d ' ' "$place/fill.0" "$place/fill.1" "$place/fill.8" "$place/fill.16" |
    awk '{ printf "  %-10s %11s %9s %9s %9s\n", $1, $2, $4, $6, $8 }'

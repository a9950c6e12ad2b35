# SPDX-License-Identifier: MIT OR Apache-2.0
# Sourced by run: how a test is built with a mutant, and whether it fails.
#   plain atomics asan tsan tsan-short tsan-yield   a program of tests or tests/vfs; short: waiters sleep soon, yield: never
#   native              a program of tests/explore with its arguments, natively
#   lab short sleepy    the same, explored by $COREFOLD: 6 CPUs; 4 CPUs; 6 CPUs, and waiters sleep at once
#   histories           tests/explore/vfs_histories with its arguments, explored
# Objects of the unchanged kit are compiled once for each way; of a mutant, those that include its file.
# shellcheck shell=bash disable=SC2154,SC2086

flags_of() {
    case $1 in
    asan) echo "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all" ;;
    tsan) echo "-O1 -fsanitize=thread" ;;
    tsan-short) echo "-O1 -fsanitize=thread -DCF_LOCK_SPINS=4 -DCF_LOCK_YIELDS=1" ;;
    tsan-yield) echo "-O1 -fsanitize=thread -DCF_LOCK_SPINS=4 -DCF_LOCK_YIELDS=1 -DCF_LOCK_PARKS=0" ;;
    lab | short) echo "-O2 -DCF_LOCK_SPINS=16" ;;
    histories) echo "-O2 -DCF_LOCK_SPINS=16 -DCF_MEMORY_HASH_BITS=2" ;;
    sleepy) echo "-O2 -DCF_LOCK_PARKS=1 -DCF_LOCK_SPINS=2 -DCF_LOCK_YIELDS=1 -DCF_RWSEM_HAND_OFF_NS=2000" ;;
    *) echo "-O2" ;;
    esac
}
explores() { case $1 in lab | short | sleepy | histories) ;; *) return 1 ;; esac; }
compiler_of() { if explores "$1"; then echo "$COREFOLD cc"; else echo "${CC:-gcc}"; fi; }
# Programs of tests/explore have no test points, but for vfs_histories; what only judges histories is not instrumented.
points_of() { case $1 in lab | short | sleepy | native) ;; *) echo -DCF_TEST_POINTS ;; esac; }

compile() { # WAY KIT SOURCE OBJECT; also OBJECT.d: what it includes
    local with
    with=$(compiler_of "$1")
    case $1:$3 in histories:tests/vfs/model/*) with=${CC:-gcc} ;; esac
    mkdir -p "${4%/*}"
    (cd "$2" && $with $(flags_of "$1") $(points_of "$1") -g -std=c11 -D_GNU_SOURCE -pthread -Iinclude ${liburcu_flags-} \
        -MMD -MF "$4.d" -c "$3" -o "$4")
}

source_of() { # WAY PROGRAM
    case $1 in
    native | lab | short | sleepy | histories) echo "tests/explore/$2.c" ;;
    *) if [ -e "tests/$2.c" ]; then echo "tests/$2.c"; else echo "tests/vfs/$2.c"; fi ;;
    esac
}

sources_of() { # TEST'S SOURCE
    echo src/*.c "$1"
    case $1 in tests/vfs/*) echo src/vfs/*.c tests/vfs/model/*.c ;; */vfs_histories.c) echo src/vfs/*.c tests/vfs/model/[!k]*.c ;; esac
}

# The unchanged kit's, by the first worker that wants them.
originals() { # WAY SOURCE...
    local way=$1 source
    shift
    (
        flock 9
        for source in "$@"; do
            [ -e "$work/$way/$source.o" ] || compile "$way" . "$source" "$work/$way/$source.o" || exit 1
        done
    ) 9>"$work/lock.$way"
}

# liburcu's source, compiled once; `reason` says why there is none.
liburcu() {
    (
        flock 9
        [ -e "$work/liburcu.tried" ] && exit
        touch "$work/liburcu.tried"
        tests/mutants/liburcu "$work/liburcu" "$COREFOLD" >"$work/liburcu.log" 2>&1 || rm -rf "$work/liburcu"
    ) 9>"$work/lock.liburcu"
    [ -e "$work/liburcu/flags" ] && liburcu_flags=$(cat "$work/liburcu/flags") && return
    reason="no source of liburcu: $(tail -n 1 "$work/liburcu.log")"
    return 1
}

# The program $mine/test with the mutant of $file. 1: it cannot be built.
build() { # WAY TEST'S SOURCE
    local way=$1 source objects='' sources
    sources=$(sources_of "$2")
    originals "$way" $sources || return
    rm -rf "$mine/objects"
    for source in $sources; do
        if [ "$source" = "$file" ] || grep -qE "[ /]${file##*/}( |\$)" "$work/$way/$source.o.d"; then
            compile "$way" "$mine/kit" "$source" "$mine/objects/$source.o" || return
            objects="$objects $mine/objects/$source.o"
        else
            objects="$objects $work/$way/$source.o"
        fi
    done
    case $2 in tests/vfs/*) objects="$objects -lurcu-memb" ;; */vfs_histories.c) objects="$objects $work/liburcu/*.o" ;; esac
    echo '__attribute__((weak)) void cf_test_point(const char *where) { (void)where; }' >"$mine/point.c"
    $(compiler_of "$way") $(flags_of "$way") -pthread "$mine/point.c" $objects -o "$mine/test"
}

run_explored() { # WAY ARGUMENTS; the first of $schedules that fails is $killed_by
    local how most=400
    case $1 in
    lab) how="--machine xeon-4s-80 --cpus 6" most=30 ;;
    short) how="--cpus 4 --timeout 20" ;;
    sleepy) how="--cpus 6 --timeout 20" ;;
    histories) how="--cpus 4 --timeout 60" ;;
    esac
    [ "$schedules" -lt "$most" ] || schedules=$most
    (cd "$mine" && timeout 3600 "$COREFOLD" explore --jobs 1 $how --seeds "1-$schedules" -- ./test $2 >out 2>&1)
    grep -q '^ *replay: ' "$mine/out" || return 1
    killed_by=$(sed -n 's/^seed \([0-9]*\): .*/\1/p' "$mine/out" | head -n 1)
    by="$1, $(sed -n 's/^\(seed [0-9]*: .*\)/\1/p' "$mine/out" | head -n 1 | cut -c1-100)"
}

run_natively() { # WAY SOURCE PART OR ARGUMENTS
    local turn mode='' arguments='' most=4
    killed_by=1
    case $1:$2 in
    atomics:*) mode=CF_TEST_ATOMICS=1 ;;
    tsan:tests/vfs/*) ;;
    tsan*) mode=CF_TEST_SCALE=5 ;;
    native:*) arguments=$3 most=6 ;;
    esac
    for turn in $(seq $most); do # where it is a matter of luck
        env $mode TSAN_OPTIONS=halt_on_error=1:atexit_sleep_ms=0 CF_STORM_SECONDS=1 CF_TEST_ONLY="$3" timeout 120 "$mine/test" $arguments \
            >"$mine/out" 2>&1 || break
        [ "$turn" != $most ] || return 1
    done
    by="$1, $(basename "$2" .c), $(grep -m 1 -o 'FAILED .*\|WARNING: ThreadSanitizer: [a-z ]*\|SUMMARY: .*\|runtime error: .*' \
        "$mine/out" || echo stopped)"
}

# Whether a test fails with the mutant: 0, and `by` says how; 1; 2, and `reason` why it cannot be run here; 3, or nowhere.
fails() { # WAY:PROGRAM:PART
    local way=${1%%:*} rest=${1#*:} source built
    source=$(source_of "$way" "${rest%%:*}")
    liburcu_flags=
    if explores "$way" && ! command -v "$COREFOLD" >/dev/null; then
        reason="no corefold"
        return 2
    fi
    [ "$way" != histories ] || liburcu || return 2
    built=$way
    [ "$way" = atomics ] && built=plain
    build "$built" "$source" >"$mine/errors" 2>&1 || {
        reason="it does not compile: $(grep -m 1 'error\|undefined' "$mine/errors")"
        return 3
    }
    if explores "$way"; then run_explored "$way" "${rest#*:}"; else run_natively "$way" "$source" "${rest#*:}"; fi
}

locked_code() { # KIT SOURCE WHAT IT INCLUDES
    (cd "$1" && ${CC:-gcc} -O0 -std=c11 -D_GNU_SOURCE -Iinclude -MMD -MF "$3" -S "$2" -o - | grep -cE 'lock|xchg|fence')
}

# The same locked instructions and fences on x86, which is all that a memory order depends on there once compiled. Those of the
# unchanged kit are counted once.
same_code() { # FILE
    local source of seen=
    for source in src/*.c src/vfs/*.c tests/counter.c tests/locks.c; do
        of=$work/x86/$source
        (
            flock 9
            mkdir -p "${of%/*}"
            [ -e "$of.locked" ] || locked_code . "$source" "$of.d" >"$of.locked"
        ) 9>"$work/lock.x86"
        [ "$source" = "$1" ] || grep -qE "[ /]${1##*/}( |\$)" "$of.d" || continue
        locked_code "$mine/kit" "$source" "$mine/code.d" | cmp -s - "$of.locked" || return
        seen=1
    done
    [ "$seen" ]
}

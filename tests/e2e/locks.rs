// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the report says of locks: their names, who waits where, and for whom when nobody goes on.
use crate::harness::{Run, Simulation, program, program_with, stress};
use serde_json::Value;

/// A deadlock on the object that each way of `deadlocks/waits.c` is about: what is said of thread 2, which
/// waits in all of them.
#[track_caller]
fn thread_2_waits(way: &str) -> String {
    let ended = Simulation::of(&program("deadlocks/waits.c")).cpus("4").args(way).run();
    assert_eq!(ended.said.code, Some(4), "{}{}", ended.said.out, ended.said.err);
    let report = ended.report();
    let details = report.at(4).0["ending"]["details"].as_array().expect("details").clone();
    let told = details.iter().filter_map(Value::as_str).find(|d| d.starts_with("thread 2 "));
    told.unwrap_or_else(|| panic!("nothing of thread 2 in {details:?}")).to_owned()
}

#[test]
fn a_deadlock_names_the_object_its_holders_and_the_place() {
    let expected = [
        ("upgrade", "rwlock `gate.lock` (held by threads 1, 2) in pthread_rwlock_wrlock, at upgrade"),
        ("writers", "rwlock `gate.lock` (held by thread 1) in pthread_rwlock_wrlock, at write_and_leave"),
        ("missed", "condition variable `gate.opened` in pthread_cond_wait, at wait_then"),
        ("semaphore", "semaphore `gate.tokens` in sem_wait, at take_two_tokens"),
        ("barrier", "barrier `gate.meeting` in pthread_barrier_wait, at meet"),
        ("futex", "futex `gate.word` in futex, at wait_on_word"),
        ("once", "once `gate.once` in pthread_once, at do_once"),
    ];
    for (way, what) in expected {
        let told = thread_2_waits(way);
        assert!(told.contains(what) && told.contains("(waits.c:"), "{way}: {told}");
    }
}

fn lock<'a>(run: Run<'a>, name: &str) -> &'a Value {
    let locks = run.0["locks"].as_array().expect("locks");
    locks.iter().find(|l| l["name"] == name).unwrap_or_else(|| panic!("no {name} in {locks:?}"))
}

#[test]
fn every_kind_of_lock_is_counted_and_named_by_field() {
    let report = Simulation::of(&program("names/locks.c")).cpus("8").args("{cpus} 100").report();
    let taken = |name: &str| lock(report.at(8), name)["acquisitions"].clone();
    assert_eq!(taken("office.door"), 800);
    assert_eq!(taken("office.files"), 1600);
    assert_eq!(taken("office.desk"), 800);
    assert_eq!(taken("office.chairs"), 800);
    assert_eq!(taken("office.lunch"), 800);
    assert_eq!(lock(report.at(8), "office.lunch")["contended"], 700);
    for name in ["office.door", "office.files", "office.lunch"] {
        let lock = lock(report.at(8), name);
        assert_eq!(lock["waited_at"]["function"], "visit");
        assert!(lock["contended"].as_u64() > Some(0) && lock["wait_cycles"].as_u64() > Some(0), "{lock}");
    }
    // Held until what was written inside is on its way: at least the line that the visits are counted on.
    assert!(lock(report.at(8), "office.door")["hold_cycles"].as_u64() > Some(800 * 40));
}

/// 7 threads try each in vain, 10 times a millisecond; the rwlock in two ways.
#[test]
fn waits_that_end_by_their_time_out_count() {
    let report = Simulation::of(&program("truths/gives_up.c")).cpus("8").args("7").report();
    for (name, times) in [("office.door", 1), ("office.files", 2), ("office.chairs", 1), ("office.bell", 1)] {
        let lock = lock(report.at(8), name);
        assert_eq!(lock["contended"], 70 * times, "{lock}");
        assert_eq!(lock["waited_at"]["function"], "try_each", "{lock}");
        let milliseconds = number(lock, "wait_cycles") / 2.1e6 / (70.0 * f64::from(times));
        assert!((1.0..1.2).contains(&milliseconds), "{name}: {milliseconds} ms each: {lock}");
    }
}

/// What `truths/spun_locks.c` says of itself: how often its lock was taken, and found taken; the lock in the report, and
/// what the report says.
fn spun(how: &str, word: &str) -> (f64, f64, Value, String) {
    let run = Simulation::of(&program("truths/spun_locks.c")).cpus("16").args(&format!("{{cpus}} {how}")).run();
    assert_eq!(run.said.code, Some(0), "{how}: {}{}", run.said.out, run.said.err);
    let said: Vec<f64> = run.printed().split_whitespace().map(|word| word.parse().expect("a number")).collect();
    (said[0], said[1], lock(run.report().at(16), word).clone(), run.said.out.clone())
}

fn number(lock: &Value, key: &str) -> f64 {
    lock[key].as_f64().unwrap_or_else(|| panic!("{key} of {lock}"))
}

/// Failed attempts are no acquisitions, and end no wait. (What is taken before the first thread spins is not counted, and a
/// thread whose second attempt succeeds at once has not spun.)
#[test]
fn acquisitions_of_a_spun_word_are_those_that_the_program_makes() {
    let of_word = ["exchange", "ordered", "compare", "backoff", "chance"].map(|how| (how, "word"));
    for (how, word) in of_word.into_iter().chain([("bit", "bits"), ("decrement", "counter")]) {
        let (taken, waited, lock, out) = spun(how, word);
        let counted = number(&lock, "acquisitions") / taken;
        assert!((0.98..=1.0).contains(&counted), "{how}: {counted} of {taken}: {lock}");
        let waits = number(&lock, "contended") / waited;
        assert!((0.7..=1.02).contains(&waits), "{how}: {waits} of {waited}: {lock}");
        assert!(out.contains("(spun word)"), "{how}: {out}");
    }
}

/// Whoever reads that it is his turn makes no update by which he could be counted.
#[test]
fn of_a_word_that_nobody_takes_only_waits_are_known() {
    let (_, waited, lock, out) = spun("ticket", "owner");
    assert_eq!((&lock["acquisitions"], &lock["hold_cycles"]), (&0.into(), &0.into()), "{lock}");
    let waits = number(&lock, "contended") / waited;
    assert!((0.95..=1.02).contains(&waits), "{waits} of {waited}: {lock}");
    assert!(out.contains("-  7.99k waits") && !out.contains("acquisitions had to wait"), "{out}");
    let (_, waited, lock, _) = spun("proportional", "owner");
    let waits = number(&lock, "contended") / waited;
    assert!((0.95..=1.02).contains(&waits), "{waits} of {waited}: {lock}");
}

/// Each arrival changes the word that all look at: who pauses in between waits all the same, however long the word takes to come.
#[test]
fn a_word_that_changes_at_each_look_is_waited_for_by_who_pauses() {
    let program = program_with("truths/one_word_ticket.c", &[]);
    let report = Simulation::of(&program).cpus("16").args("{cpus} 6000").report();
    let (run, text) = (report.at(16), report.0["finding"]["text"].as_str().expect("a text").to_owned());
    assert!(run.share("spin") > 0.8, "{}: {text}", run.share("spin"));
    assert!(
        text.contains("of thread time waits for the spun word ticket, longest in lock (one_word_ticket.c:"),
        "{text}"
    );
}

/// A run of `truths/queue_locks.c`: what it says of itself, its locks in the report, and what the report says.
fn queued(how: &str) -> (f64, Vec<Value>, String) {
    let run = Simulation::of(&program("truths/queue_locks.c")).cpus("16").args(&format!("{{cpus}} {how}")).run();
    assert_eq!(run.said.code, Some(0), "{how}: {}{}", run.said.out, run.said.err);
    let waited = run.printed().trim().parse().expect("a number");
    (waited, run.report().at(16).0["locks"].as_array().expect("locks").clone(), run.said.out.clone())
}

/// Not for their nodes, of which they spin on a word each.
#[test]
fn threads_that_queue_by_spinning_wait_for_the_queue() {
    let ways = [("mcs", "tail"), ("links", "tail"), ("counts", "tail"), ("clh", "tail"), ("numbers", "last")];
    for (how, tail) in ways {
        let (waited, locks, out) = queued(how);
        let lock = locks.iter().find(|lock| lock["name"] == format!("locks[0].{tail}"));
        let lock = lock.unwrap_or_else(|| panic!("{how}: {locks:?}"));
        assert_eq!(lock["kind"], "spin queue");
        let waits = number(lock, "contended") / waited;
        assert!((0.95..=1.05).contains(&waits), "{how}: {waits} of {waited}: {lock}");
        assert!(out.contains(&format!("waits for the spin queue locks[0-1].{tail}")), "{how}: {out}");
    }
}

/// Whoever sleeps between its looks waits in the same queue.
#[test]
fn a_thread_that_naps_in_a_queue_is_still_in_it() {
    let (_, locks, _) = queued("naps");
    let cycles = |wanted: &dyn Fn(&str) -> bool| -> f64 {
        let named = locks.iter().filter(|lock| lock["name"].as_str().is_some_and(wanted));
        named.map(|lock| number(lock, "wait_cycles")).sum()
    };
    let (queue, nodes) = (cycles(&|name| name.ends_with(".tail")), cycles(&|name| name.starts_with("nodes[")));
    assert!(queue > 0.0 && nodes < 0.02 * queue, "{queue}, {nodes}: {locks:?}");
}

#[test]
fn what_a_thread_updates_before_it_waits_for_something_else_is_no_queue() {
    let others = [("barrier", "flags["), ("signals", "flags["), ("flag", "flag"), ("object", "locks[0].word")];
    for (how, word) in others {
        let (_, locks, _) = queued(how);
        assert!(locks.iter().all(|lock| lock["kind"] != "spin queue"), "{how}: {locks:?}");
        let waits = |lock: &&Value| lock["name"].as_str().is_some_and(|name| name.starts_with(word));
        assert!(locks.iter().any(|lock| waits(&lock)), "{how}: {locks:?}");
    }
}

/// By a store of sequential consistency, which is an exchange for the CPU, as by any other.
#[test]
fn whoever_stores_to_a_spun_word_that_it_holds_releases_it() {
    let hold = |how: &str| {
        let (.., lock, _) = spun(how, "word");
        number(&lock, "hold_cycles") / number(&lock, "acquisitions")
    };
    let (released, ordered) = (hold("exchange"), hold("ordered"));
    assert!(released > 100.0 && (0.7..1.4).contains(&(ordered / released)), "{released}, {ordered}");
}

/// The word that a thread of `truths/flags.c` waits for, and the rounds.
fn awaited(how: &str) -> (Value, f64) {
    let run = Simulation::of(&program("truths/flags.c")).cpus("2").args(how).run();
    assert_eq!(run.said.code, Some(0), "{how}: {}{}", run.said.out, run.said.err);
    (lock(run.report().at(2), "flag").clone(), run.printed().trim().parse().expect("a number"))
}

/// Whoever reads an unchanged word again and again, and goes on, has not waited for it. But pauses and yields say that it
/// has, and so do an update of the word, and sleep.
#[test]
fn a_loop_that_no_word_ends_is_a_wait_if_the_thread_does_what_waiters_do() {
    let waits = |how: &str| {
        let run = Simulation::of(&program("truths/flags.c")).cpus("2").args(how).run();
        assert_eq!(run.said.code, Some(0), "{how}: {}{}", run.said.out, run.said.err);
        let rounds: f64 = run.printed().trim().parse().expect("a number");
        let report = run.report();
        let locks = report.at(2).0["locks"].as_array().expect("locks").clone();
        locks.iter().find(|lock| lock["name"] == "flag").map_or(0.0, |flag| number(flag, "contended")) / rounds
    };
    let read = waits("read");
    // In one of six loops the word changes.
    assert!(read < 0.2, "{read}");
    for how in ["pauses", "yields", "tries", "sleeps"] {
        let waits = waits(how);
        assert!(waits > 0.8, "{how}: {waits}");
    }
}

#[test]
fn a_flag_that_stores_of_sequential_consistency_raise_and_lower_is_no_lock() {
    let (flag, _) = awaited("signal");
    assert_eq!(flag["acquisitions"], 0, "{flag}");
}

/// The thread stores nothing from wait to wait. Or it waits with one look at each value: that is no computing.
#[test]
fn computing_ends_a_wait_and_looking_does_not() {
    for how in ["signal", "work", "busy"] {
        let (flag, rounds) = awaited(how);
        let waits = number(&flag, "contended") / rounds;
        assert!((0.98..=1.02).contains(&waits), "{how}: {waits} of {rounds}: {flag}");
    }
}

fn met(cpus: u64, way: &str) -> Value {
    let args = format!("{{cpus}} 100 {way}");
    let report = Simulation::of(&program("names/meetings.c")).cpus(&cpus.to_string()).args(&args).report();
    let locks = report.at(cpus).0["locks"].as_array().expect("locks").clone();
    locks.into_iter().find(|l| l["name"] == "hall.changed" && l["kind"] != "spun word").expect("the condition variable")
}

/// With many threads and few rounds some thread is always last a few times; what counts is for how long each worked.
#[test]
fn threads_with_equal_shares_do_not_arrive_unevenly() {
    for (how, advice) in [("even", ": meet less often"), ("late", ": even out the threads' shares")] {
        let report = Simulation::of(&program("truths/rounds.c")).cpus("1,40").args(&format!("{{cpus}} {how}")).report();
        let finding = report.0["finding"]["text"].as_str().expect("a finding").to_owned();
        assert!(finding.contains("waits for the barrier met") && finding.contains(advice), "{how}: {finding}");
        assert_eq!(finding.contains("arrive unevenly"), how == "late", "{how}: {finding}");
        let locks = report.at(40).0["locks"].as_array().expect("locks");
        let barrier = &locks.iter().find(|lock| lock["name"] == "met").expect("the barrier")["barrier"];
        assert_eq!(barrier["timed_rounds"], 29, "{barrier}");
        let uneven = barrier["uneven_cycles"].as_u64().expect("cycles") / 29;
        let expected = if how == "late" { 18_000..22_000 } else { 0..4_000 };
        assert!(expected.contains(&uneven), "{how}: {uneven}");
    }
}

/// Most threads wait for a table, and who holds it for the journal's lock.
#[test]
fn a_wait_for_a_lock_whose_holder_waits_for_another_is_for_that_one() {
    let journal = program("../../accuracy/culprits/journal_lock.c");
    let report = Simulation::of(&journal).cpus("1,8").args("{cpus} 4000").report();
    let finding = report.0["finding"]["text"].as_str().expect("a finding").to_owned();
    assert!(finding.contains("waits for the mutex journals[0].tail_lock"), "{finding}");
    assert!(finding.contains("of it is for tables[0].latch, whose holder waits for"), "{finding}");
    let locks = report.at(8).0["locks"].as_array().expect("locks").clone();
    let of = |name: &str| locks.iter().find(|lock| lock["name"] == name).expect("the lock").clone();
    let (table, journal) = (of("tables[0].latch"), of("journals[0].tail_lock"));
    let waits = table["held_waiting"].as_array().expect("waits");
    assert_eq!((waits.len(), &waits[0]["address"]), (1, &journal["address"]));
    let share = waits[0]["cycles"].as_f64().expect("cycles") / table["hold_cycles"].as_f64().expect("cycles");
    assert!((0.5..1.0).contains(&share), "{share}");
    assert!(journal["held_waiting"].is_null(), "{journal}");
}

/// What a holder waits for is counted once: where it has taken its lock twice, where it spins in a call, and not if it waited before.
#[test]
fn what_a_holder_waits_for_is_counted_once() {
    let held = program("truths/held.c");
    let locks = |how: &str| {
        let report = Simulation::of(&held).cpus("6").args(&format!("{{cpus}} {how}")).report();
        report.at(6).0["locks"].as_array().expect("locks").clone()
    };
    let within = |locks: &[Value], outer: &str, inner: &str| {
        let of = |name: &str| locks.iter().find(|lock| lock["name"] == name).expect("the lock").clone();
        let (outer, inner) = (of(outer), of(inner));
        let waits = outer["held_waiting"].as_array().cloned().unwrap_or_default();
        let all = waits.iter().filter(|wait| wait["address"] == inner["address"]).map(|wait| wait["cycles"].as_u64());
        let cycles = |lock: &Value, key: &str| lock[key].as_u64().expect("cycles");
        (all.flatten().sum::<u64>(), cycles(&outer, "hold_cycles"), cycles(&inner, "wait_cycles"))
    };
    for (how, outer, inner) in [("twice", "readers", "inner"), ("spinlock", "outer", "spun")] {
        let (waited, hold, all) = within(&locks(how), outer, inner);
        // Others wait for the inner lock as well, which hold no other.
        assert!(
            waited > hold / 3 && waited <= hold && waited <= all / 4 * 3,
            "{how}: {waited} of {hold}, {all} in all"
        );
    }
    assert_eq!(within(&locks("spun"), "outer", "flag").0, 0);
}

/// Each job wakes 80 threads, of which one has it; the others wait for the mutex, and then again.
#[test]
fn threads_that_are_woken_in_vain_are_told() {
    for (how, in_vain) in [("broadcast", true), ("signal", false)] {
        let report = Simulation::of(&program("truths/herd.c")).cpus("1,80").args(&format!("{{cpus}} {how}")).report();
        let finding = report.0["finding"]["text"].as_str().expect("a finding").to_owned();
        assert_eq!(
            finding.contains("at the condition variable have began right after a wake-up there"),
            in_vain,
            "{finding}"
        );
        assert_eq!(
            finding.contains("To try: wake only threads that can go on: pthread_cond_signal"),
            in_vain,
            "{finding}"
        );
    }
}

/// 40 threads, of which one has twenty shares, and none waits for another.
#[test]
fn the_thread_with_the_largest_share_is_named() {
    let report = Simulation::of(&program("truths/rounds.c")).cpus("1,40").args("{cpus} apart").report();
    let finding = report.0["finding"]["text"].as_str().expect("a finding").to_owned();
    assert!(finding.contains("Thread 2 was at work for"), "{finding}");
    assert!(finding.contains("To try: even out the threads' shares of the work."), "{finding}");
}

#[test]
fn a_barrier_made_of_a_condition_variable_is_called_one() {
    for cpus in [3, 8] {
        let hall = met(cpus, "barrier");
        assert_eq!(hall["kind"], "barrier", "{hall}");
        let barrier = &hall["barrier"];
        assert_eq!((&barrier["threads"], &barrier["rounds"]), (&cpus.into(), &100.into()), "{hall}");
        assert_eq!((&barrier["last_thread"], barrier["made_of_condition_variable"].as_bool()), (&1.into(), Some(true)));
        assert!(barrier["last_rounds"].as_u64() > Some(90), "{hall}");
        for way in ["turns", "queue"] {
            assert_eq!(met(cpus, way)["kind"], "condition variable", "{way} at {cpus}");
        }
    }
}

/// The second of two threads comes last in some rounds, without order.
#[test]
fn a_barrier_of_two_threads_is_told_from_turns_by_who_wakes_and_waits_at_once() {
    assert_eq!(met(2, "uneven")["kind"], "barrier");
    // With "barrier" one thread is always last: it may as well make what the other waits for.
    for way in ["turns", "queue", "barrier"] {
        assert_eq!(met(2, way)["kind"], "condition variable", "{way}");
    }
}

/// The machine's read-modify-write takes 18 cycles. A mutex needs none while there is one thread, as of glibc 2.34.
#[test]
fn an_uncontended_lock_costs_its_atomic_operations_and_little_else() {
    let rounds = 10_000;
    let locks = [("mutex", 12, 30), ("mutex-threads", 48, 60), ("rwlock", 48, 60), ("spinlock", 20, 30)];
    for (what, least, most) in locks.into_iter().chain([("semaphore", 40, 55)]) {
        let program = program("truths/uncontended.c");
        let report = Simulation::of(&program).cpus("1").args(&format!("{what} {rounds}")).report();
        let each = report.at(1).cycles() / rounds;
        assert!((least..=most).contains(&each), "{what}: {each} cycles");
    }
}

/// The store that releases a spin lock waits for the line, which those who wait have taken: until then it is held.
#[test]
fn a_spin_lock_is_held_until_others_can_see_that_it_is_not() {
    let program = program("truths/held_work.c");
    for cpus in [1, 2, 4] {
        let held = |how: &str| {
            let report = Simulation::of(&program).cpus(&cpus.to_string()).args(&format!("{cpus} {how}")).report();
            let lock = lock(report.at(cpus), if how == "own" { "own_lock" } else { "lock" }).clone();
            number(&lock, "hold_cycles") / number(&lock, "acquisitions")
        };
        let pthread = held("pthread");
        assert!(pthread >= 100.0, "{cpus} CPUs: {pthread} cycles for a hundred iterations");
        // One thread never spins on its own lock, so that is none.
        let own = if cpus == 1 { pthread } else { held("own") };
        assert!((pthread / own - 1.0).abs() < 0.15, "{cpus} CPUs: {pthread} and {own} cycles");
    }
}

/// A lock that is free for most of the time is had by whoever wants it, however another thread polls under it.
#[test]
fn nobody_starves_while_another_thread_polls_a_queue() {
    let kit = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../kit/include");
    let program = program_with("truths/polled_lock.c", &[kit]);
    let (threads, rests): (&[u32], &[u32]) =
        if stress() { (&[1, 3, 7], &[0, 1, 5, 10, 15, 20, 25, 30]) } else { (&[1, 3], &[0]) };
    for machine in ["skylake-2s-80", "icx-2s-8375c", "rome-2s-7742"] {
        for (threads, rest, slack) in threads
            .iter()
            .flat_map(|threads| rests.iter().flat_map(move |rest| ["0", "500"].map(|slack| (*threads, *rest, slack))))
        {
            let run = Simulation::of(&program)
                .cpus(&(threads + 1).to_string())
                .args(&format!("{threads} {rest}"))
                .option("--machine", machine)
                .option("--slack", slack)
                .option("--longest", "0.02")
                .run();
            let what = format!("{machine}, {threads} threads, rest {rest}, slack {slack}");
            assert_eq!(run.said.code, Some(0), "{what}: {}{}", run.said.out, run.said.err);
            for line in run.printed().lines() {
                let longest = line.split_whitespace().skip(1).filter_map(|word| word.parse::<u32>().ok()).max();
                // Sleepers wake after 3 µs, and may find the lock taken once more. Where a pause takes 140 cycles, as on
                // Skylake, whoever has released a test-and-set lock is likely to have it again: published runs of two
                // threads take 21 ns an operation, which is less than a transfer.
                assert!(longest.is_some_and(|ns| ns < 100_000), "{what}: {line}");
            }
        }
    }
}

/// Who spins on a futex's word before it sleeps has waited for the lock then, too.
#[test]
fn a_lock_that_is_spun_on_and_then_slept_for_is_waited_for_in_both() {
    let program = program("truths/adaptive_lock.c");
    let run = Simulation::of(&program).cpus("8").args("{cpus} 200").run();
    let report = run.report();
    let lock = &report.at(8).0["locks"][0];
    assert_eq!((lock["name"].as_str(), lock["kind"].as_str()), (Some("lock"), Some("futex")), "{lock}");
    let (sleeps, waits) = (run.printed().trim().parse::<u64>().expect("a count"), lock["contended"].as_u64());
    assert!(sleeps > 0 && waits > Some(4 * sleeps), "{sleeps} sleeps: {lock}");
    // Most of the time threads do nothing else: it is the finding.
    assert_eq!(report.0["finding"]["cause"], "lock", "{}", report.0["finding"]);
}

/// Whose word is no int: its threads sleep in a pool of the library's, whose words say nothing of it, but the function does.
#[test]
fn what_cxx20_has_beside_mutexes_is_named_by_what_it_is() {
    let program = program_with("names/cxx20_locks.cpp", &["-std=c++20"]);
    for (kind, name, type_name, words) in [
        (
            "semaphore",
            "connections.tokens",
            "std::counting_semaphore",
            "waits for the std::counting_semaphore connections.tokens",
        ),
        ("barrier", "std::barrier<std::__empty_completion>::arrive_and_wait", "std::barrier", "meet less often"),
        ("latch", "all_loaded in main", "std::latch", "waits for the std::latch all_loaded in main"),
    ] {
        let report = Simulation::of(&program).cpus("8").args(&format!("{{cpus}} {kind}")).report();
        let lock = &report.at(8).0["locks"][0];
        assert_eq!((lock["name"].as_str(), lock["type_name"].as_str()), (Some(name), Some(type_name)), "{lock}");
        let finding = report.0["finding"]["text"].as_str().expect("a finding");
        assert!(finding.contains(words), "{kind}: {finding}");
    }
}

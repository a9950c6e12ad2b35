// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads that are under way together.
use crate::lab::{Lab, NEAR, lab};
use corefold_model::{Kind, Machine, Ticks, ticks};

#[test]
fn independent_loads_overlap_up_to_a_limit_and_awaited_ones_do_not() {
    let sum = |lab: &mut Lab, kind| {
        (0..9).for_each(|i| _ = lab.access(0, i * 4096, kind));
        lab.model.drain(0, lab.clocks[0]) / ticks(1)
    };
    let wide = |m: &mut Machine| m.core.window = 1000;
    let (mut with, mut chain) = (lab(wide), lab(wide));
    let mut without = lab(|m| (m.core.window, m.core.misses) = (0, 1));
    // Three at once, of 180 cycles each; one after the other if each is waited for.
    assert_eq!(sum(&mut with, Kind::Load), 3 * 180);
    assert_eq!(sum(&mut without, Kind::Load), 9 * 180);
    assert_eq!(sum(&mut chain, Kind::LoadAwaited), 9 * 180);
}

/// A CPU that waits does not run further past its loads: what it has waited for is not paid again.
#[test]
fn a_wait_is_paid_once() {
    // The window is 50 cycles, and a line comes from memory in 180.
    type Then = fn(&mut Lab) -> Ticks;
    let ways: [(&str, Then); 6] = [
        ("for a load that delivers an address", |lab| {
            let load = *lab.model.loads(0).next().unwrap();
            lab.model.await_load(0, &load, 0)
        }),
        ("for a value", |lab| lab.access(0, 4096, Kind::LoadAwaited).done),
        ("for room among the loads", |lab| {
            lab.access(0, 4096, Kind::Load);
            lab.access(0, 8192, Kind::Load);
            lab.access(0, 12288, Kind::Load).done
        }),
        ("for room among the stores", |lab| {
            (1..5).for_each(|line| _ = lab.access(0, line * 4096, Kind::Store));
            lab.access(0, 5 * 4096, Kind::Store).done
        }),
        ("for what a sibling asked for", |lab| {
            lab.access(4, 4096, Kind::Store);
            lab.access(0, 4096, Kind::Load).done
        }),
        ("for what only its caller knows of", |lab| {
            lab.model.stands_still(0, ticks(180));
            ticks(180)
        }),
    ];
    for (what, wait) in ways {
        let mut lab = lab(|_| ());
        assert_eq!(lab.access(0, 0, Kind::Load).done, 0);
        let waited = wait(&mut lab);
        assert_eq!((waited, lab.model.retire(0, waited)), (ticks(180), ticks(180)), "{what}");
    }
    let mut lab = lab(|_| ());
    (0..2).for_each(|line| _ = lab.access(0, line * 4096, Kind::Load));
    assert_eq!(
        lab.model.retire(0, ticks(60)),
        ticks(60 + 130),
        "the first load's wait at the window's end is the second's"
    );
}

#[test]
fn lines_of_other_cores_come_a_few_at_a_time() {
    let all = |transfers| {
        let mut lab = lab(|m| (m.core.transfers, m.core.store_buffer) = (transfers, 64));
        (0..12).for_each(|line| _ = lab.access(NEAR, line * 64, Kind::Store));
        lab.rest();
        let begun = lab.clocks[0];
        (0..12).for_each(|line| _ = lab.access(0, line * 64, Kind::Store));
        let done = lab.model.drain(0, lab.clocks[0]);
        (done - begun) / ticks(1)
    };
    assert_eq!((all(12), all(4), all(1)), (60, 180, 720));
}

// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

const FILE: &str = "/src/s.c";
const TEXT: &str = "struct s {\n\tlong limit;\n\tlong hits; /* written */\n\tlong a, b;\n\tchar name[8];\n};\n";

/// The members of `struct s`, cut before these.
fn structure(storage: Storage, begins: &[usize], ends: bool) -> Declared {
    let member = |(number, name): (u64, &str)| DeclaredMember {
        name: Some(name.into()),
        offset: number * 8,
        size: Some(8),
        align: Some(8),
        is_bit_field: false,
        place: Some((FILE.into(), [2, 3, 4, 4, 5][number as usize])),
    };
    let members = (0..).zip(["limit", "hits", "a", "b", "name"]).map(member).collect();
    Declared {
        name: "struct s".into(),
        base: 0,
        language: Language::C,
        storage,
        align: 1,
        members,
        begins: begins.into(),
        ends,
    }
}

fn trial(declared: Result<Vec<Declared>, Undeclared>) -> Trial {
    let candidate = Candidate {
        object: "s".into(),
        layout: "hits on a line of its own".into(),
        address: 0,
        bytes: 40,
        is_heap: false,
        slot_step: 0,
        live: 1,
        stride: 40,
        new_stride: 64,
        parts: vec![(8, 8, 0)],
        more_bytes: 56,
        element: None,
        follows: false,
        reorder: None,
        declared,
    };
    Trial { candidate, with: Vec::new(), gain: None, seconds: 1.0, also: Vec::new(), slots: None }
}

fn patched(text: &str, declared: Declared) -> Patch {
    let mut read = |file: &str| (file == FILE).then(|| (PathBuf::from(FILE), text.to_owned()));
    super::patch_of(&trial(Ok(vec![declared])), 64, Path::new("/src"), &mut read)
}

/// Lines that the patch removes and adds.
fn changed(patch: &Patch) -> Vec<&str> {
    let is_change = |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
    patch.diff.lines().filter(is_change).collect()
}

const PADDING: &str = "+\tlong long : 64, : 64, : 64, : 64, : 64, : 64, : 64, : 64; /* 64 bytes of padding */";

#[test]
fn members_of_variables_are_aligned() {
    let patch = patched(TEXT, structure(Storage::Global, &[1], false));
    assert!(patch.diff.starts_with("--- a/s.c\n+++ b/s.c\n@@ -1,6 +1,6 @@\n struct s {\n"), "{}", patch.diff);
    assert_eq!(changed(&patch), ["-\tlong hits; /* written */", "+\t_Alignas(64) long hits; /* written */"]);
    assert!(patch.by_hand.is_empty() && patch.notes[0].contains("aligned_alloc(64, …)"), "{patch:?}");
}

/// The structure as a whole, for an element of an array: its first member.
#[test]
fn a_variable_on_lines_of_its_own_has_an_aligned_first_member() {
    let patch = patched(TEXT, structure(Storage::Global, &[], true));
    assert_eq!(changed(&patch), ["-\tlong limit;", "+\t_Alignas(64) long limit;"]);
    let cpp = Declared { language: Language::Cpp, ..structure(Storage::Global, &[], true) };
    assert_eq!(changed(&patched(TEXT, cpp))[1], "+\talignas(64) long limit;");
    let mut derived = structure(Storage::Global, &[], true);
    derived.members.remove(0);
    assert!(patched(TEXT, derived).by_hand[0].contains("does not begin with a member"));
}

#[test]
fn what_an_allocator_returns_is_padded() {
    let patch = patched(TEXT, structure(Storage::Heap, &[1], true));
    assert_eq!(changed(&patch), [PADDING, PADDING]);
    let (first, last) = (patch.diff.find(PADDING), patch.diff.rfind(PADDING));
    let (hits, name) = (patch.diff.find("long hits"), patch.diff.find("char name"));
    assert!(first < hits && name < last, "{}", patch.diff);
    let mut flexible = structure(Storage::Heap, &[], true);
    flexible.members[4].size = None;
    assert!(patched(TEXT, flexible).by_hand[0].contains("ends with a flexible array member"));
}

/// Where something else is used on the line that an object begins on, padding behind it is not enough.
#[test]
fn an_object_that_follows_another_is_padded_on_both_sides() {
    let follower = |begins: &[usize], element| {
        let mut trial = trial(Ok(vec![structure(Storage::Heap, begins, true)]));
        (trial.candidate.follows, trial.candidate.element) = (true, element);
        patch_of(trial, Some(TEXT))
    };
    let patch = follower(&[], None);
    assert_eq!(changed(&patch), [PADDING, PADDING]);
    let (first, last) = (patch.diff.find(PADDING), patch.diff.rfind(PADDING));
    assert!(first < patch.diff.find("long limit") && patch.diff.find("char name") < last, "{}", patch.diff);
    assert!(patch.notes[0].contains("struct s no longer begins with limit"), "{patch:?}");
    assert_eq!(changed(&follower(&[], Some((0, 40)))).len(), 1, "elements are parted by what is behind each");
}

/// The lines of the members go elsewhere in their structure; nothing else changes.
#[test]
fn members_that_are_moved_keep_their_lines() {
    let moving = |ranges: &[(u64, u64)], before, structures: usize| {
        let mut trial = trial(Ok(vec![structure(Storage::Heap, &[], true); structures]));
        trial.candidate.reorder = Some(Reorder { ranges: ranges.into(), before });
        patch_of(trial, Some(TEXT))
    };
    let to_the_end = moving(&[(8, 8)], 40, 1);
    assert_eq!(changed(&to_the_end), ["-\tlong hits; /* written */", "+\tlong hits; /* written */"]);
    assert!(to_the_end.diff.contains(" \tchar name[8];\n+\tlong hits; /* written */\n };"), "{}", to_the_end.diff);
    let together = moving(&[(32, 8)], 8, 1);
    assert!(together.diff.contains("+\tchar name[8];\n \tlong hits;"), "{}", together.diff);
    assert!(together.notes[0].contains("the order of members of struct s"), "{together:?}");
    assert!(moving(&[(16, 8)], 40, 1).by_hand[0].contains("is not a complete declaration of a alone"));
    assert!(moving(&[(8, 8)], 40, 2).by_hand[0].contains("of several structures"));
    assert!(moving(&[(100, 8)], 40, 1).by_hand[0].contains("by hand"));
}

/// Two declarators in one line, and a source that is no more that of the program.
#[test]
fn what_is_not_plain_is_told_in_words() {
    let patch = patched(TEXT, structure(Storage::Global, &[2], false));
    assert_eq!(patch.by_hand, ["hits on a line of its own: /src/s.c:4 is not a complete declaration of a alone"]);
    assert!(patch.diff.is_empty());
    let older = patched(&format!("\n{TEXT}"), structure(Storage::Global, &[1], false));
    assert!(older.diff.is_empty() && older.by_hand[0].contains("no `limit` at line 2: has it changed"), "{older:?}");
    let gone = structure(Storage::Global, &[1], false);
    let nowhere = patch_of(trial(Ok(vec![gone])), None);
    assert!(nowhere.by_hand[0].contains("cannot be read"), "{nowhere:?}");
    let rust = patch_of(trial(Err(Undeclared::Rust)), None);
    assert!(rust.by_hand[0].contains("#[repr(align(64))]"), "{rust:?}");
}

fn patch_of(trial: Trial, text: Option<&str>) -> Patch {
    super::patch_of(&trial, 64, Path::new("/else"), &mut |file| Some((PathBuf::from(file), text?.to_owned())))
}

/// Of several layouts, each is made or told.
#[test]
fn layouts_that_were_tried_together_are_one_patch() {
    let mut both = trial(Ok(vec![structure(Storage::Global, &[1], false)]));
    both.with = vec![trial(Err(Undeclared::NoStructure)).candidate];
    both.with.push(trial(Ok(vec![structure(Storage::Global, &[1, 4], false)])).candidate);
    let patch = patch_of(both, Some(TEXT));
    assert_eq!(changed(&patch).len(), 4, "each line once: {}", patch.diff);
    assert!(patch.diff.starts_with("--- a/src/s.c\n") && patch.folder == Path::new("/"), "{}", patch.diff);
    assert!(patch.by_hand.len() == 1 && patch.by_hand[0].contains("aligned to 64 bytes"), "{patch:?}");
}

/// Of layouts that gain alike, one that a patch makes as a whole.
#[test]
fn a_layout_that_can_be_made_is_preferred_among_equals() {
    let ranked = |second: f64| {
        let gaining = |gain: f64, storage, begins: &[usize]| Trial {
            gain: Some(gain),
            ..trial(Ok(vec![structure(storage, begins, false)]))
        };
        let trials = [gaining(0.5, Storage::Global, &[2]), gaining(second, Storage::Heap, &[1])];
        let mut read = |file: &str| Some((PathBuf::from(file), TEXT.to_owned()));
        patch(&trials, 64, Path::new("/src"), &mut read).expect("a patch")
    };
    assert_eq!(changed(&ranked(0.49)), [PADDING]);
    assert!(ranked(0.4).diff.is_empty() && ranked(0.4).by_hand.len() == 1);
    let nothing = Trial { gain: Some(0.01), ..trial(Err(Undeclared::Untyped)) };
    assert_eq!(patch(&[nothing], 64, Path::new("/"), &mut |_| None), None);
}

#[test]
fn parts_that_stay_beside_each_other_are_not_cut() {
    let cuts = |parts: &[(u64, u64, u64)]| {
        let mut candidate = trial(Err(Undeclared::Untyped)).candidate;
        candidate.parts = parts.into();
        candidate.parting().cuts
    };
    assert_eq!(cuts(&[(8, 8, 0)]), [8, 16]);
    assert_eq!(cuts(&[(0, 8, 0), (8, 32, 64)]), [0, 8, 40]);
    assert_eq!(cuts(&[(0, 8, 64), (8, 8, 72), (24, 16, 88)]), [0, 16, 24, 40]);
}

#[test]
fn what_is_asserted_of_the_structure_is_told() {
    let asserted = "_Static_assert(sizeof(struct s) == 40, \"\");\n_Static_assert(sizeof(struct sx) == 40, \"\"); /* s */\n\
                    CF_STATIC_ASSERT(offsetof(struct s, hits) == 8, \"\");\nsize_t bytes = sizeof(struct s);\n";
    let patch = patched(&format!("{TEXT}{asserted}"), structure(Storage::Global, &[1], false));
    let told: Vec<&String> = patch.notes.iter().filter(|note| note.contains("asserts something of s:")).collect();
    assert!(
        matches!(&told[..], [first, second] if first.contains("/src/s.c:7 ") && second.contains("/src/s.c:9 ")),
        "{told:?}"
    );
}

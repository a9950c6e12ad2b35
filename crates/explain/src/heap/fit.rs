// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a type fits an object's size, and how many of it make up the object.
use super::evidence::{Ground, Guess};
use super::layout::{Element, Layout};
use crate::dwarf::{Debug, Die};
use gimli::constants as c;

/// The first guess that can be true of an object of `bytes`; `mapped`: it is no heap object.
pub(crate) fn choose(debug: &Debug, guesses: &[Guess], bytes: u64, mapped: bool) -> Option<Layout> {
    guesses.iter().find_map(|guess| fit(debug, guess, bytes, mapped))
}

/// The type among `elements` that an object of exactly `bytes` can be, if there is but one.
pub(crate) fn only(debug: &Debug, elements: &[Element], bytes: u64) -> Option<Layout> {
    let mut fitting = elements.iter().filter(|element| element_size(debug, element) == Some(bytes));
    let layout = |element: &Element| Layout { element: element.clone(), count: None, start: 0 };
    let first = layout(fitting.next()?);
    let name = first.type_name(debug);
    fitting.all(|other| layout(other).type_name(debug) == name).then_some(first)
}

/// Of a hash table of hashbrown: its entries, a power of two, end where its control bytes begin, one for each entry and a
/// group of 16 more.
pub(crate) fn hash_table(debug: &Debug, entry: Die, bytes: u64) -> Option<Layout> {
    const GROUP: u64 = 16;
    let size = debug.size_of(entry).filter(|size| *size > 0)?;
    let control = |count: u64| (count * size).next_multiple_of(GROUP);
    let count = (2..40).map(|power| 1 << power).find(|count| control(*count) + count + GROUP == bytes)?;
    Some(Layout { element: Element::Value(entry), count: Some(count), start: control(count) - count * size })
}

fn fit(debug: &Debug, guess: &Guess, bytes: u64, mapped: bool) -> Option<Layout> {
    let size = element_size(debug, &guess.element)?;
    let layout = |count, start| Some(Layout { element: guess.element.clone(), count, start });
    if bytes < size || (guess.ground == Ground::Argument && bytes != size) {
        return None;
    }
    if guess.ground == Ground::NewArray {
        let start =
            array_cookie(debug, &guess.element).filter(|start| (bytes - start).is_multiple_of(size)).unwrap_or(0);
        return layout(Some((bytes - start) / size), start);
    }
    if bytes == size || is_flexible(debug, &guess.element) || guess.ground == Ground::SizeWithTail {
        return layout(None, 0);
    }
    // A size named in the source holds even if the request was rounded up; so does the type of the pointer that a
    // size in figures is assigned to.
    match guess.ground {
        // Whole pages are multiples of most sizes: an allocator's header is at the beginning, and what it hands out behind it.
        Ground::Assigned if mapped && !is_base(debug, &guess.element) => layout(None, 0),
        _ if bytes.is_multiple_of(size) => layout(Some(bytes / size), 0),
        Ground::Size => layout(Some(bytes / size), 0),
        Ground::Assigned if bytes < 2 * size => layout(None, 0),
        Ground::Assigned if rounds_up_to(bytes, size) || is_base(debug, &guess.element) => {
            layout(Some(bytes / size), 0)
        }
        Ground::Assigned => layout(None, 0),
        _ => None,
    }
}

/// Whether `bytes` is what some number of elements comes to, rounded up to a line or a page, or to words. (Rounded up to
/// more than an element, all numbers are.)
fn rounds_up_to(bytes: u64, size: u64) -> bool {
    let least = bytes / size * size;
    [16, 64, 4096].iter().any(|unit| *unit < size && least.next_multiple_of(*unit) == bytes)
}

fn is_base(debug: &Debug, element: &Element) -> bool {
    matches!(element, Element::Value(kind) if debug.is_base(*kind)) || matches!(element, Element::Pointer(_))
}

/// `None` for what says nothing about the memory: `void`, and bytes.
pub(crate) fn element_size(debug: &Debug, element: &Element) -> Option<u64> {
    match element {
        Element::Pointer(_) => Some(8),
        Element::Value(kind) => debug.size_of(*kind).filter(|size| *size > 1 && !is_byte(debug, *kind)),
    }
}

fn is_byte(debug: &Debug, kind: Die) -> bool {
    let kind = debug.strip(kind);
    let element = if debug.tag(kind) == Some(c::DW_TAG_array_type) { debug.link(kind, c::DW_AT_type) } else { None };
    element.is_some_and(|element| debug.size_of(element) == Some(1))
}

fn is_flexible(debug: &Debug, element: &Element) -> bool {
    matches!(element, Element::Value(kind) if debug.is_flexible(*kind))
}

/// Bytes before the elements of `new T[n]`: their number, kept if they have to be destroyed.
fn array_cookie(debug: &Debug, element: &Element) -> Option<u64> {
    let Element::Value(kind) = element else {
        return None;
    };
    let kind = debug.strip(*kind);
    let is_destructor = |die: Die| debug.text(die, c::DW_AT_name).is_some_and(|name| name.starts_with('~'));
    let destroyed = debug.children(kind).iter().any(|child| child.0 == c::DW_TAG_subprogram && is_destructor(child.1));
    destroyed.then(|| debug.number(kind, c::DW_AT_alignment).unwrap_or(0).max(8))
}

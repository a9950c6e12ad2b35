// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types of heap objects, from the code that allocated them.
//!
//! The call stack of an allocation is climbed from the call to `malloc` or `operator new` outwards,
//! through wrappers that hand out untyped memory, to the first function whose source names a type. Where
//! the source is missing, or newer than the program and so perhaps another, the type is not known.
mod evidence;
mod fit;
mod layout;
mod names;
mod statement;
mod tokens;

pub(crate) use layout::Layout;

use crate::code::Frame;
use crate::dwarf::{Debug, Die};
use crate::space::{Space, Spot};
use crate::types::{Note, Place, base_name};
use corefold_recording::{AllocSite, Mapping, Object};
use evidence::{Ground, Guess, evidence};
use gimli::constants as c;
use layout::Element;
use names::Scope;
use statement::{Sources, Spelt};
use std::cell::RefCell;
use std::collections::HashMap;

/// An object's type, if it is known, and where it was allocated.
type Answer<'a> = (Option<(&'a Debug, Layout)>, Option<Place>);

/// Types by allocation site.
pub(crate) struct Heap<'a> {
    sites: &'a [AllocSite],
    space: &'a Space<'a>,
    sources: Sources,
    /// By site and size: one site may allocate one object or a row of them.
    known: RefCell<HashMap<(u32, u64), Answer<'a>>>,
}

/// No wrapper of `malloc` is deeper than this, not even a container's in a container.
const HIGHEST: usize = 24;

impl<'a> Heap<'a> {
    pub fn new(sites: &'a [AllocSite], space: &'a Space<'a>) -> Heap<'a> {
        Heap { sites, space, sources: Sources::default(), known: RefCell::default() }
    }

    pub fn object(&self, object: &Object) -> Answer<'a> {
        let key = (object.site, object.bytes);
        if let Some(answer) = self.known.borrow().get(&key) {
            return answer.clone();
        }
        let answer = self.sites.get(object.site as usize).map(|site| self.climb(site, object.bytes));
        let answer = answer.unwrap_or_default();
        self.known.borrow_mut().insert(key, answer.clone());
        answer
    }

    /// What was mapped, if the object is no heap object.
    pub fn mapping(&self, object: &Object) -> Option<&'a Mapping> {
        self.sites.get(object.site as usize)?.mapping.as_ref()
    }

    /// Where a stream was opened, if the object is one: a `FILE`, whose layout is the C library's own.
    pub fn stream(&self, object: &Object) -> Option<Place> {
        let site = self.sites.get(object.site as usize).filter(|site| site.mapping.is_none())?;
        let in_library = |pc: &&u64| self.space.spot(**pc).is_some_and(|spot| is_c_library(&spot.module.path));
        let library: Vec<&u64> = site.stack.iter().take_while(in_library).collect();
        let opens = |pc: &&u64| self.space.callers_at(**pc).iter().any(|frame| opens_stream(&frame.function));
        let caller = site.stack.get(library.len())?;
        library.iter().any(opens).then(|| self.space.callers_at(*caller)[0].place())
    }

    /// What source was missing where a type was asked for.
    pub fn notes(&self) -> Vec<Note> {
        self.sources.notes()
    }

    fn climb(&self, site: &AllocSite, bytes: u64) -> Answer<'a> {
        let calls = self.calls(site);
        let mut climbed = 0_usize;
        for call in &calls {
            climbed += 1;
            let called = climbed.checked_sub(2).map(|inner| &calls[inner].frame);
            let Some((debug, function)) = call.debug().zip(call.frame.die) else {
                continue;
            };
            let scope = Scope { debug, function };
            if let Some(layout) = self.layout(scope, call, called, (bytes, site.mapping.is_some())) {
                // A container names its elements, but its user knows where it was made.
                let users = calls[climbed - 1..].iter().map(|call| &call.frame);
                return (Some((debug, layout)), first_of_user(users));
            }
            if !is_library(&call.frame) && !hands_out_untyped(scope) {
                break;
            }
        }
        (None, first_of_user(calls[..climbed].iter().rev().map(|call| &call.frame)))
    }

    /// The functions on an allocation's stack, inlined ones too, innermost first. The C library's function that
    /// calls the program (or a thread's first function) is none that hands out memory.
    fn calls(&self, site: &AllocSite) -> Vec<Call<'a>> {
        let mut calls = Vec::new();
        let mut in_program = false;
        for pc in &site.stack {
            let spot = self.space.spot(*pc);
            let is_c_library = spot.is_none_or(|spot| is_c_library(&spot.module.path));
            if in_program && is_c_library {
                break;
            }
            in_program |= !is_c_library;
            calls.extend(self.space.callers_at(*pc).iter().map(|frame| Call { spot, frame: frame.clone() }));
        }
        calls.truncate(HIGHEST);
        calls
    }

    fn layout(
        &self,
        scope: Scope<'a>,
        call: &Call<'a>,
        called: Option<&Frame>,
        (bytes, mapped): (u64, bool),
    ) -> Option<Layout> {
        if is_hash_table(&call.frame) {
            let entry = scope.debug.first_type_argument(scope.debug.written_function(scope.function))?;
            return fit::hash_table(scope.debug, entry, bytes);
        }
        if call.frame.is_standard_library() {
            return fit::choose(scope.debug, &library_guesses(scope, &call.frame), bytes, mapped);
        }
        if scope.debug.is_rust(scope.function) {
            // What a statement of Rust names need not be what it allocates: that may happen anywhere below.
            let by_itself = called.is_some_and(|called| RAW.iter().any(|raw| called.function.ends_with(raw)));
            return by_itself.then(|| fit::only(scope.debug, &pointees(scope), bytes))?;
        }
        let (file, line) = call.frame.file.as_deref().zip(call.frame.line)?;
        let place = Spelt { file, line, column: call.frame.column, built: call.spot?.image.modified };
        let name = scope.debug.name(scope.function).unwrap_or_default();
        let statement = self.sources.statement(&place)?;
        if statement.begins_function(&name) {
            return fit::only(scope.debug, &pointees(scope), bytes);
        }
        fit::choose(scope.debug, &evidence(&statement, scope), bytes, mapped).or_else(|| {
            let passed_on = self.sources.passed_on(&place)?;
            fit::choose(scope.debug, &evidence(&passed_on, scope), bytes, mapped)
        })
    }
}

/// A function on an allocation's stack.
struct Call<'a> {
    spot: Option<Spot<'a>>,
    frame: Frame,
}

impl<'a> Call<'a> {
    fn debug(&self) -> Option<&'a Debug> {
        self.spot?.image.debug()
    }
}

/// Functions of Rust's `alloc` that get a size only; by their ends, as names may be short or whole.
const RAW: [&str; 3] = ["alloc::alloc", "alloc::alloc_zeroed", "alloc::realloc"];

/// Who calls these knows more.
fn is_library(frame: &Frame) -> bool {
    frame.is_standard_library() || is_of_hashbrown(frame)
}

/// The crate behind `HashMap`, as a part of std or by itself.
fn is_of_hashbrown(frame: &Frame) -> bool {
    frame.file.as_deref().is_some_and(|file| file.contains("/hashbrown-"))
}

/// A method of hashbrown's `RawTable<T>`, which is generic over its entries.
fn is_hash_table(frame: &Frame) -> bool {
    is_of_hashbrown(frame) && ["RawTable::", "RawTable<"].iter().any(|name| frame.function.contains(name))
}

fn is_c_library(path: &str) -> bool {
    ["libc.so", "libc-", "libpthread", "ld-linux"].iter().any(|name| base_name(path).starts_with(name))
}

/// `fopen`, `_IO_new_fdopen`, `__fopen_internal`.
fn opens_stream(function: &str) -> bool {
    let name = function.trim_start_matches("_IO_new_").trim_start_matches("_IO_").trim_start_matches("__");
    let name = name.trim_end_matches("_internal").trim_end_matches("64");
    let known = ["fopen", "fdopen", "popen", "tmpfile", "fopencookie", "cookie_init", "fmemopen"];
    known.contains(&name) || ["open_memstream", "open_wmemstream"].contains(&name)
}

fn first_of_user<'a>(frames: impl Iterator<Item = &'a Frame> + Clone) -> Option<Place> {
    let user = frames.clone().find(|frame| !is_library(frame));
    user.or_else(|| frames.clone().next()).map(Frame::place)
}

/// A C++ allocator returns a `T *`; the functions of Rust's `alloc` are generic over `T`. Those of `core` and `std`
/// only call what allocates.
fn library_guesses(scope: Scope<'_>, frame: &Frame) -> Vec<Guess> {
    let allocates = frame.file.as_ref().is_some_and(|file| file.contains("/library/alloc/src/"));
    let name = scope.debug.name(scope.function).unwrap_or_default();
    let kind = match name.as_str() {
        "allocate" | "_M_allocate" => scope.debug.type_of(scope.function).and_then(|kind| scope.debug.pointee(kind)),
        _ if allocates && scope.debug.is_rust(scope.function) => {
            scope.debug.first_type_argument(scope.debug.written_function(scope.function))
        }
        _ => None,
    };
    kind.map(|kind| Guess { element: Element::Value(kind), ground: Ground::New }).into_iter().collect()
}

/// What the function's pointers point to, and what it returns.
fn pointees(scope: Scope<'_>) -> Vec<Element> {
    let debug = scope.debug;
    let locals = debug.locals(scope.function).into_iter().map(|local| local.kind);
    locals.chain(debug.type_of(scope.function)).filter_map(|kind| debug.pointee(kind)).map(Element::Value).collect()
}

/// A function like `xmalloc`: whoever calls it knows the type. It returns a pointer to nothing in
/// particular, or takes the address of one.
fn hands_out_untyped(scope: Scope<'_>) -> bool {
    let debug = scope.debug;
    let untyped = |pointer: Die| {
        debug.is_pointer(pointer)
            && debug
                .pointee(pointer)
                .is_none_or(|to| fit::element_size(debug, &Element::Value(to)).is_none() && !debug.is_pointer(to))
    };
    let sets_pointer = || {
        let parameters = debug.children(debug.written_function(scope.function)).into_iter();
        let mut kinds = parameters
            .filter(|child| child.0 == c::DW_TAG_formal_parameter)
            .filter_map(|(_, parameter)| debug.pointee(debug.type_of(parameter)?));
        kinds.any(untyped)
    };
    debug.type_of(scope.function).is_some_and(untyped) || sets_pointer()
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of Rust types, as their author writes them: the debug information has all paths and default parameters.
use crate::dwarf::{Debug, Die};

/// Parameters that nobody writes.
const DEFAULTS: [&str; 4] = [
    ", alloc::alloc::Global",
    ", hashbrown::raw::inner::alloc::inner::Global",
    ", hashbrown::alloc::inner::Global",
    ", std::hash::random::RandomState",
];

/// Crates that every program has: their paths tell nothing.
const STANDARD: [&str; 3] = ["std::", "core::", "alloc::"];

/// What the compiler makes of asynchronous code, and what it is called in names.
const FUTURES: [(&str, &str); 3] =
    [("{async_fn", "async"), ("{async_block", "async block"), ("{async_closure", "async closure")];

/// Where tokio keeps a task: its future, and how far that is.
const TASK: &str = "tokio::runtime::task::core::Cell";

/// A type's name, shortened if it is of Rust.
pub(crate) fn type_name(debug: &Debug, kind: Die) -> String {
    let name = debug.type_name(kind);
    if debug.is_rust(kind) { short_type(&name) } else { name }
}

/// The same without the path before it.
pub(crate) fn short_name(debug: &Debug, kind: Die) -> String {
    let name = debug.short_name(kind);
    if debug.is_rust(kind) { own_name(&debug.type_name(kind), &name) } else { name }
}

fn own_name(whole: &str, own: &str) -> String {
    // The function that the future is of is in the path.
    if own.starts_with("{async_") {
        return with_futures(last(whole));
    }
    task(whole).map_or_else(|| short_type(own), |future| task_of(last(&future)))
}

/// The future of tokio's task of this type.
fn task(name: &str) -> Option<String> {
    let arguments = name.strip_prefix(TASK).filter(|rest| rest.starts_with('<'))?;
    let future = short_type(first(arguments));
    Some(future.strip_suffix(" (async)").unwrap_or(&future).to_owned())
}

fn task_of(future: &str) -> String {
    format!("task of {future}")
}

/// `pool::Job<alloc::vec::Vec<pool::Part, alloc::alloc::Global>>` is `pool::Job<Vec<Part>>`: paths are told of the
/// type itself only, and not of the standard library's.
fn short_type(name: &str) -> String {
    if let Some(future) = task(name) {
        return task_of(&future);
    }
    let name = DEFAULTS.iter().fold(name.to_owned(), |name, default| name.replace(default, ""));
    let (path, arguments) = name.split_at(name.find('<').unwrap_or(name.len()));
    let is_standard = STANDARD.iter().any(|start| path.starts_with(start));
    let path = if is_standard { last(path).to_owned() } else { path.to_owned() };
    with_futures(&(path + &without_paths(arguments)))
}

/// The first of what a type is generic over.
fn first(arguments: &str) -> &str {
    let mut depth = 0_usize;
    let ends = |letter: char| {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 || depth == 1 && letter == ','
    };
    let end = arguments.find(ends).unwrap_or(arguments.len());
    arguments.get(1..end).unwrap_or_default()
}

/// A future's code by the name of its function: of `server::handle::{{closure}}`, whose own name is `{async_fn#0}`,
/// `server::handle (async)`.
pub(crate) fn of_future(function: String, own: &str) -> String {
    match future(own) {
        Some(what) => format!("{} ({what})", function.strip_suffix("::{{closure}}").unwrap_or(&function)),
        None => function,
    }
}

fn future(own: &str) -> Option<&'static str> {
    FUTURES.iter().find(|(start, _)| own.starts_with(start)).map(|(_, what)| *what)
}

/// A future's type by the name of its function: `pool::{impl#0}::run::{async_fn_env#0}` is `pool::run (async)`.
fn with_futures(name: &str) -> String {
    let Some((at, what)) = name.match_indices("{async_").find_map(|(at, _)| Some((at, future(&name[at..])?))) else {
        return name.to_owned();
    };
    let after = name[at..].find('}').map_or("", |end| &name[at + end + 1..]);
    let function = name[..at].trim_end_matches("::");
    let function = match function.rsplit_once("{impl#") {
        Some((path, rest)) => match rest.split_once("}::") {
            Some((_, own)) if !own.contains(['<', ' ']) => path.to_owned() + own,
            _ => function.to_owned(),
        },
        None => function.to_owned(),
    };
    format!("{function} ({what}){}", with_futures(after))
}

/// `<alloc::sync::Arc<T> as core::ops::drop::Drop>::drop` is `Arc::drop`, `pool::work::Queue<T>::push::{{closure}}` is
/// `Queue::push::{{closure}}`, and `pool::work::run` is `work::run`: the type, or else the module, and the function.
pub(crate) fn short_function(name: &str) -> String {
    let parts = parts(name);
    let is_named = |part: &str| !part.starts_with('{');
    let Some(function) = parts.iter().rposition(|part| is_named(part)) else {
        return name.to_owned();
    };
    let owner = parts[..function].iter().rev().find(|part| is_named(part));
    let owner = owner.map(|owner| owner_name(owner) + "::").unwrap_or_default();
    let own: Vec<String> = parts[function..].iter().map(|part| function_name(part)).collect();
    owner + &own.join("::")
}

/// What stands between the `::` of a path; not of those in brackets, nor of the one in `f::<T>`.
fn parts(name: &str) -> Vec<&str> {
    let is_path = |rest: &str| {
        let next = rest.strip_prefix("::");
        next.is_some_and(|next| !next.starts_with('<') || next.starts_with("<impl "))
    };
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            // The arrow of a function's type is no bracket.
            b'>' if name[..at].ends_with('-') => {}
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && is_path(&name[at..]) => {
                parts.push(&name[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    parts.push(&name[start..]);
    parts
}

/// A type without what it is generic over, or a module. Of `<&mut T as Iterator>` it is the trait that tells something.
fn owner_name(part: &str) -> String {
    let Some(inner) = part.strip_prefix('<').and_then(|part| part.strip_suffix('>')) else {
        return plain(part);
    };
    let inner = inner.strip_prefix("impl ").unwrap_or(inner);
    let (kind, of) = match inner.split_once(" as ") {
        Some((kind, of)) => (kind, of),
        None => inner.split_once(" for ").map_or((inner, inner), |(of, kind)| (kind, of)),
    };
    let kind = plain(kind);
    let is_type = kind.len() > 1 && kind.starts_with(|first: char| first.is_uppercase());
    if is_type { kind } else { plain(of) }
}

/// `Arc` of `alloc::sync::Arc<T>`.
fn plain(path: &str) -> String {
    last(path.split('<').next().unwrap_or(path)).to_owned()
}

/// The same whichever way the compiler mangles names: one has neither the number of a closure nor what a function is
/// generic over. Of `drop_in_place<MutexGuard<u64>>` both have it, and nothing else says what it is for.
fn function_name(part: &str) -> String {
    const LONGEST: usize = 32;
    if part.starts_with("{closure") {
        return "{{closure}}".to_owned();
    }
    let (own, arguments) = part.split_at(part.find('<').unwrap_or(part.len()));
    let own = own.trim_end_matches("::");
    if own != "drop_in_place" {
        return own.to_owned();
    }
    let arguments = without_paths(arguments);
    if arguments.len() > LONGEST { format!("{own}<…>") } else { own.to_owned() + &arguments }
}

fn without_paths(text: &str) -> String {
    let mut short = String::new();
    let mut path = String::new();
    for letter in text.chars() {
        if letter.is_alphanumeric() || "_:{}#".contains(letter) {
            path.push(letter);
        } else {
            short += last(&path);
            path.clear();
            short.push(letter);
        }
    }
    short + last(&path)
}

/// The end of a path: a name, and for a closure or a future also the function that it is of.
fn last(path: &str) -> &str {
    let parts = path.rmatch_indices("::").map(|(at, _)| at + 2).chain([0]);
    let named = |start: &usize| !path[*start..].starts_with('{');
    parts.into_iter().find(named).map_or(path, |start| &path[start..])
}

#[cfg(test)]
mod tests {
    use super::{of_future, own_name, short_function, short_type};

    #[test]
    fn functions_are_told_by_their_type_or_module() {
        let names = [
            ("main", "main"),
            ("pool::main", "pool::main"),
            ("pool::count::{{closure}}", "pool::count::{{closure}}"),
            ("std_locks::main::{{closure}}::{{closure}}", "std_locks::main::{{closure}}::{{closure}}"),
            ("pool::work::Queue<T>::push", "Queue::push"),
            ("pool::work::Queue<T>::push::{closure#0}", "Queue::push::{{closure}}"),
            ("<pool::work::Queue<u8>>::push::{closure#1}", "Queue::push::{{closure}}"),
            ("pool::apply::<pool::main::{closure#0}>", "pool::apply"),
            ("<alloc::sync::Arc<T,A> as core::ops::drop::Drop>::drop", "Arc::drop"),
            ("<std::sys::sync::mutex::futex::Mutex>::lock_contended", "Mutex::lock_contended"),
            ("<&mut I as core::iter::traits::iterator::Iterator>::next", "Iterator::next"),
            ("core::iter::range::<impl core::iter::traits::iterator::Iterator for A>::next", "Iterator::next"),
            ("core::iter::range::<impl core::iter::Step for core::ops::Range<u8>>::next", "Range::next"),
            (
                "core::ptr::drop_in_place<std::sync::poison::mutex::MutexGuard<u64>>",
                "ptr::drop_in_place<MutexGuard<u64>>",
            ),
            (
                "core::ptr::drop_in_place::<std::sync::poison::mutex::MutexGuard<u64>>",
                "ptr::drop_in_place<MutexGuard<u64>>",
            ),
            ("<std::sync::poison::condvar::Condvar>::wait_while::<u8, a::b>", "Condvar::wait_while"),
            ("alloc::sync::{impl#12}::drop<[u8], a::B>", "sync::drop"),
            ("std::thread::scoped::<impl std::thread::scoped::Scope<T>>::spawn_scoped", "Scope::spawn_scoped"),
        ];
        names.iter().for_each(|(long, short)| assert_eq!(short_function(long), *short));
    }

    #[test]
    fn futures_are_told_by_the_function_that_they_are_of() {
        let names = [
            ("server::handle::{{closure}}", "{async_fn#0}", "server::handle (async)"),
            ("server::main::{{closure}}::{{closure}}", "{async_block#1}", "server::main::{{closure}} (async block)"),
            ("server::main::{{closure}}", "{closure#0}", "server::main::{{closure}}"),
            ("server::main", "main", "server::main"),
        ];
        names.iter().for_each(|(function, own, told)| assert_eq!(of_future((*function).into(), own), *told));
    }

    #[test]
    fn fields_begin_with_their_objects_name() {
        let names = [
            (
                "tokio::runtime::task::core::Cell<h::serve::{async_fn_env#0}<u8>, a::S>",
                "Cell<h::serve::…>",
                "task of serve (async)<u8>",
            ),
            ("tokio::runtime::task::core::Cell<h::a::serve::{async_fn_env#0}, a::S>", "Cell<…>", "task of serve"),
            ("core::cell::Cell<u64>", "Cell<u64>", "Cell<u64>"),
            ("h::serve::{async_fn_env#0}", "{async_fn_env#0}", "serve (async)"),
        ];
        names.iter().for_each(|(whole, own, told)| assert_eq!(own_name(whole, own), *told));
    }

    #[test]
    fn paths_and_defaults_are_left_out() {
        let names = [
            ("alloc::sync::ArcInner<h::Stats>", "ArcInner<Stats>"),
            ("h::{impl#0}::handle::{async_fn_env#0}", "h::handle (async)"),
            (
                "alloc::boxed::Box<h::serve::{async_fn_env#0}<u8>, h::main::{async_block_env#1}>",
                "Box<serve (async)<u8>, main (async block)>",
            ),
            (
                "tokio::runtime::task::core::Cell<h::serve::{async_fn_env#0}, alloc::sync::Arc<h::H>>",
                "task of h::serve",
            ),
            ("tokio::runtime::task::core::Cell<h::main::{async_block_env#0}, S>", "task of h::main (async block)"),
            ("h::Stats", "h::Stats"),
            ("u64", "u64"),
            ("Slot<(usize, [core::sync::atomic::AtomicU64; 4])>", "Slot<(usize, [AtomicU64; 4])>"),
            ("pool::Job<alloc::vec::Vec<pool::Part, alloc::alloc::Global>>", "pool::Job<Vec<Part>>"),
            ("Packet<&mut dyn core::fmt::Debug>", "Packet<&mut dyn Debug>"),
            (
                "Cell<real::main::{async_block_env#0}, a::b::{impl#1}::run::{closure_env#0}>",
                "Cell<main (async block), run::{closure_env#0}>",
            ),
            (
                "std::collections::hash::map::HashMap<u32, alloc::string::String, std::hash::random::RandomState>",
                "HashMap<u32, String>",
            ),
        ];
        names.iter().for_each(|(long, short)| assert_eq!(short_type(long), *short));
    }
}

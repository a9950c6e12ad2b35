// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders of the program's threads, in place of the kernel's in /proc.
use super::disk::{make_directory, remove, write};
use super::tasks::{self, OF_THREAD};
use crate::carrier::Carrier;
use crate::scheduling::fiber::FIBERS;
use crate::state::scheduler::running_fiber;
use crate::threads::{affinity, clock};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

/// A folder for each thread.
pub const FOLDER: &str = "/proc/self/task";

/// Threads whose folders are there.
static SHOWN: Carrier<BTreeSet<usize>> = Carrier::new(BTreeSet::new());

/// A file of the program's process by its number, or of one of its threads, as one of /proc/self.
pub fn as_itself(path: &str) -> Option<String> {
    let inside = path.strip_prefix("/proc/")?;
    let (process, inside) = inside.split_once('/').unwrap_or((inside, ""));
    let thread = match process {
        // The link.
        "self" if inside.is_empty() => return None,
        "self" => 0,
        "thread-self" => running_fiber(),
        number => tasks::named(number)?,
    };
    if process == "thread-self" || thread != 0 {
        return Some(in_folder(thread, inside));
    }
    let of_thread = inside.strip_prefix("task/").map(|rest| rest.split_once('/').unwrap_or((rest, "")));
    match of_thread.map(|(number, file)| (tasks::named(number), file)) {
        Some((Some(thread), file)) => Some(in_folder(thread, file)),
        _ => Some(format!("/proc/self/{inside}")),
    }
}

/// The folder of a thread, or what it has of its own there; else the process's.
fn in_folder(thread: usize, file: &str) -> String {
    if file.is_empty() || OF_THREAD.contains(&file) {
        return format!("{FOLDER}/{}/{file}", affinity::number(thread));
    }
    format!("/proc/self/{file}")
}

/// A file in a thread's folder.
pub fn named(path: &str) -> Option<(usize, &str)> {
    let (number, file) = path.strip_prefix(FOLDER)?.strip_prefix('/')?.split_once('/')?;
    Some((tasks::named(number)?, file))
}

pub fn show(root: &str, thread: usize, file: &str) -> Option<String> {
    let text = tasks::text(thread, file, clock::ran(thread))?;
    let path = format!("{root}/task/{}/{file}", affinity::number(thread));
    write(&path, &text).then_some(path)
}

/// Folders of the threads that there are, and none of others.
pub fn show_all(root: &str) {
    make_directory(&format!("{root}/task"));
    let known = SHOWN.with(|shown| shown.clone());
    for thread in 0..FIBERS.len() {
        let folder = format!("{root}/task/{}", affinity::number(thread));
        match (tasks::is_there(thread), known.contains(&thread)) {
            (true, false) => {
                make_directory(&folder);
                OF_THREAD.iter().for_each(|file| _ = show(root, thread, file));
                SHOWN.with(|shown| shown.insert(thread));
            }
            (false, true) => {
                OF_THREAD.iter().for_each(|file| remove(&format!("{folder}/{file}"), 0));
                remove(&folder, libc::AT_REMOVEDIR);
                SHOWN.with(|shown| shown.remove(&thread));
            }
            _ => {}
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program has mapped, file or not: so that a line there can be named by its mapping, as one on
//! the heap is by its object.
use crate::engine::engine;
use crate::storage::heap;
use crate::sys;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use corefold_recording::{Mapping, Object};

/// Live mappings by address.
pub type Mapped = BTreeMap<u64, Object>;

/// The program mapped memory; `pc` is the return address of its call. Mappings that were there before are gone.
pub fn note(address: u64, bytes: u64, fd: i32, offset: u64, pc: u64) {
    forget(address, bytes);
    let mapping = match fd {
        0.. => Mapping { file: file_name(fd), offset },
        _ => Mapping::default(),
    };
    let site = heap::site_number(pc, bytes, Some(mapping));
    engine().mapped.insert(address, Object { address, bytes, site });
}

/// The program's mappings of these bytes are gone. Of one that is hit in its middle, the beginning stays.
pub fn forget(begin: u64, bytes: u64) {
    let mapped = &mut engine().mapped;
    let end = begin + bytes;
    while let Some((&address, object)) = mapped.range_mut(..end).next_back() {
        if address + object.bytes <= begin {
            break;
        }
        if address >= begin {
            mapped.remove(&address);
        } else {
            object.bytes = begin - address;
        }
    }
}

pub fn object_at(address: u64) -> Option<Object> {
    let last = engine().mapped.range(..=address).next_back();
    last.map(|(_, object)| object.clone()).filter(|object| address - object.address < object.bytes)
}

/// The last component of the path behind a descriptor.
fn file_name(fd: i32) -> String {
    let link = format!("/proc/self/fd/{fd}\0");
    let mut path = [0u8; 4096];
    // SAFETY: a terminated string and a buffer of the stated size.
    let got = unsafe {
        sys::syscall!(libc::SYS_readlinkat, libc::AT_FDCWD, link.as_ptr(), path.as_mut_ptr(), path.len(); 0, 0)
    };
    let path = &path[..usize::try_from(got).unwrap_or(0)];
    String::from_utf8_lossy(path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)).into_owned()
}

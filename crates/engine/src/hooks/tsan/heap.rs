// SPDX-License-Identifier: MIT OR Apache-2.0
//! What TSan's runtime tells of its heap, told of ours.
use crate::engine::active;
use crate::storage::limit;
use crate::storage::objects;
use core::ffi::c_int;

fn object(address: u64) -> bool {
    active() && objects::is_object(address)
}

#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_ownership(address: u64) -> c_int {
    c_int::from(object(address))
}

#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_allocated_size(address: u64) -> u64 {
    if object(address) { objects::size_of(address) } else { 0 }
}

#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_allocated_size_fast(address: u64) -> u64 {
    __sanitizer_get_allocated_size(address)
}

/// Where the object begins, if the address is its beginning.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_allocated_begin(address: u64) -> u64 {
    if object(address) { address } else { 0 }
}

/// What a request of that size would be given.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_estimated_allocated_size(size: u64) -> u64 {
    size
}

#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_current_allocated_bytes() -> u64 {
    limit::asked()
}

#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_heap_size() -> u64 {
    limit::asked()
}

/// What is freed goes back to the lists that the next request is served from; none of it is kept apart.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_free_bytes() -> u64 {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_unmapped_bytes() -> u64 {
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_purge_allocator() {}

/// The program's own hook asks whether a `free` is to be ignored: none is.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_ignore_free_hook(_address: u64) -> c_int {
    0
}

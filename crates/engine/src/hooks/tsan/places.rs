// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where code is: as addresses in files, since the runtime reads no debug information; reports do.
use crate::code::modules;
use crate::engine::active;
use crate::entry::with_pc;
use crate::sys;
use alloc::format;
use alloc::string::String;
use core::ffi::{c_char, c_int};
use corefold_recording::Module;

fn module_of(pc: u64) -> Option<Module> {
    modules::list().into_iter().find(|module| (module.start..module.end).contains(&pc))
}

fn shown(number: usize, pc: u64) -> String {
    let place = module_of(pc).map(|m| format!(" ({}+{:#x})", m.path, pc - m.base)).unwrap_or_default();
    format!("    #{number} {pc:#x}{place}\n")
}

extern "C" fn print(pc: u64) {
    if !active() {
        return;
    }
    for (number, pc) in crate::scheduling::fiber::stack_here(pc).into_iter().enumerate() {
        sys::write(2, shown(number, pc).as_bytes());
    }
}

with_pc! { __sanitizer_print_stack_trace "rdi" print; }

/// Copies `text` to a buffer of that size, as far as it goes, and ends it.
fn put(text: &str, buffer: *mut c_char, size: usize) {
    if let Some(most) = size.checked_sub(1) {
        let bytes = &text.as_bytes()[..text.len().min(most)];
        // SAFETY: the caller's buffer, which is that long.
        unsafe {
            buffer.cast::<u8>().copy_from(bytes.as_ptr(), bytes.len());
            buffer.add(bytes.len()).write(0);
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_get_module_and_offset_for_pc(
    pc: u64,
    path: *mut c_char,
    path_size: usize,
    offset: *mut u64,
) -> c_int {
    let Some(module) = module_of(pc) else { return 0 };
    put(&module.path, path, path_size);
    // SAFETY: the caller's.
    unsafe { offset.write(pc - module.base) };
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_symbolize_pc(pc: u64, _format: *const c_char, buffer: *mut c_char, size: usize) {
    let text = module_of(pc).map_or(format!("{pc:#x}"), |m| format!("{}+{:#x}", m.path, pc - m.base));
    put(&text, buffer, size);
}

#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_symbolize_global(at: u64, _format: *const c_char, buffer: *mut c_char, size: usize) {
    put(&format!("{at:#x}"), buffer, size);
}

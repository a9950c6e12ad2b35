// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of TSan's interface whose callers do what cannot be simulated.
use crate::engine::active;

const FIBERS: &str = "a program that switches stacks by itself (__tsan_create_fiber, __tsan_switch_to_fiber) cannot be \
                      simulated: use threads instead";
const JAVA: &str = "a Java virtual machine (__tsan_java_init and its kin) cannot be simulated";

macro_rules! refused {
    ($($name:ident $what:ident)*) => {$(
        const _: () = {
            extern "C" fn refuse(pc: u64) -> usize {
                if active() {
                    crate::ending::unsupported($what, pc);
                }
                0
            }
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() {
                core::arch::naked_asm!("mov rdi, [rsp]", "jmp {refuse}", refuse = sym refuse)
            }
        };
    )*};
}

refused! {
    __tsan_create_fiber FIBERS __tsan_switch_to_fiber FIBERS
    __tsan_java_init JAVA __tsan_java_fini JAVA __tsan_java_alloc JAVA __tsan_java_free JAVA __tsan_java_move JAVA
    __tsan_java_find JAVA __tsan_java_finalize JAVA __tsan_java_mutex_lock JAVA __tsan_java_mutex_lock_rec JAVA
    __tsan_java_mutex_read_lock JAVA __tsan_java_mutex_read_unlock JAVA __tsan_java_mutex_unlock JAVA
    __tsan_java_mutex_unlock_rec JAVA __tsan_java_acquire JAVA __tsan_java_release JAVA
    __tsan_java_release_store JAVA
}

/// A thread's own fiber, which stays the one that it runs on: any value will do.
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_get_current_fiber() -> usize {
    1
}

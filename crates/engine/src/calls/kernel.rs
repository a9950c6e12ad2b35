// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that only make a system call, which costs what one costs.
use crate::account::host;
use crate::scheduling::sched;
use crate::threads::cancel;
use crate::trampoline::{Arguments, before};

/// A system call that does not block on another thread.
pub extern "C" fn enters_kernel(arguments: &Arguments, _pc: u64) {
    host::count(arguments.name());
    sched::enter_kernel();
}

/// The same where a thread may be cancelled.
pub extern "C" fn enters_kernel_at_point(arguments: &Arguments, _pc: u64) {
    host::count(arguments.name());
    cancel::test();
    sched::enter_kernel();
}

before! {
    crate::calls::kernel::enters_kernel_at_point => fsync fdatasync msync preadv pwritev preadv64 pwritev64
        lockf lockf64 tcdrain;
    crate::calls::kernel::enters_kernel => fstat fstat64 statfs fstatfs statvfs fstatvfs lseek lseek64 sync syncfs sync_file_range ftruncate
        ftruncate64 truncate fallocate posix_fallocate posix_fadvise unlink unlinkat rename renameat mkdir rmdir link
        symlink chmod fchmod chown fchown utimensat futimens getcwd
        copy_file_range bind getsockname getpeername setsockopt uname getuid geteuid
        getgid getegid umask memfd_create shm_open shm_unlink inotify_init1
        inotify_add_watch mlock munlock mincore;
}

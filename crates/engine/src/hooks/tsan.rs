// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of TSan's runtime other than the access hooks, so that a program built for TSan finds them all:
//! annotations have no effect in a simulation, and no races are reported.
mod accesses;
mod heap;
mod places;
mod refused;

use core::ffi::c_int;

/// Functions that do nothing, whatever they are given.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {}
    )*};
}

/// Functions that answer "none" or "no", whatever they are given.
macro_rules! none {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> usize {
            0
        }
    )*};
}

// Annotations of what happens before what, of races that are meant, and of locks that are not pthread's.
nothing! {
    AnnotateBenignRace AnnotateBenignRaceSized AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait
    AnnotateEnableRaceDetection AnnotateExpectRace AnnotateFlushExpectedRaces AnnotateFlushState AnnotateHappensAfter
    AnnotateHappensBefore AnnotateIgnoreReadsBegin AnnotateIgnoreReadsEnd AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd
    AnnotateIgnoreWritesBegin AnnotateIgnoreWritesEnd AnnotateMemoryIsInitialized AnnotateMemoryIsUninitialized
    AnnotateMutexIsNotPHB AnnotateMutexIsUsedAsCondVar AnnotateNewMemory AnnotateNoOp AnnotatePCQCreate
    AnnotatePCQDestroy AnnotatePCQGet AnnotatePCQPut AnnotatePublishMemoryRange AnnotateRWLockAcquired
    AnnotateRWLockCreate AnnotateRWLockCreateStatic AnnotateRWLockDestroy AnnotateRWLockReleased AnnotateThreadName
    AnnotateTraceMemory AnnotateUnpublishMemoryRange WTFAnnotateBenignRaceSized WTFAnnotateHappensAfter
    WTFAnnotateHappensBefore
    __tsan_acquire __tsan_release __tsan_ignore_thread_begin __tsan_ignore_thread_end __tsan_mutex_create
    __tsan_mutex_destroy __tsan_mutex_pre_lock __tsan_mutex_post_lock __tsan_mutex_post_unlock
    __tsan_mutex_pre_signal __tsan_mutex_post_signal __tsan_mutex_pre_divert __tsan_mutex_post_divert
    __tsan_check_no_mutexes_held __tsan_on_thread_idle __tsan_flush_memory __tsan_external_register_header
    __tsan_external_assign_tag __tsan_destroy_fiber __tsan_set_fiber_name
}

// Where reports go and what is done at one; what the program defines itself for the runtime to call.
nothing! {
    __sanitizer_set_report_fd __sanitizer_set_report_path __sanitizer_set_death_callback
    __sanitizer_report_error_summary __sanitizer_on_print __sanitizer_sandbox_on_notify __sanitizer_malloc_hook
    __sanitizer_free_hook __sanitizer_print_memory_profile
    __sanitizer_weak_hook_memcmp __sanitizer_weak_hook_memmem __sanitizer_weak_hook_strcasecmp
    __sanitizer_weak_hook_strcasestr __sanitizer_weak_hook_strcmp __sanitizer_weak_hook_strncasecmp
    __sanitizer_weak_hook_strncmp __sanitizer_weak_hook_strstr
}

// Coverage other than that of basic blocks, which nobody collects here.
nothing! {
    __sanitizer_cov_8bit_counters_init __sanitizer_cov_bool_flag_init __sanitizer_cov_dump __sanitizer_cov_pcs_init
    __sanitizer_cov_reset __sanitizer_cov_trace_cmp __sanitizer_cov_trace_cmp1 __sanitizer_cov_trace_cmp2
    __sanitizer_cov_trace_cmp4 __sanitizer_cov_trace_cmp8 __sanitizer_cov_trace_const_cmp1
    __sanitizer_cov_trace_const_cmp2 __sanitizer_cov_trace_const_cmp4 __sanitizer_cov_trace_const_cmp8
    __sanitizer_cov_trace_div4 __sanitizer_cov_trace_div8 __sanitizer_cov_trace_gep __sanitizer_cov_trace_pc_guard
    __sanitizer_cov_trace_pc_guard_init __sanitizer_cov_trace_pc_indir __sanitizer_cov_trace_switch
    __sanitizer_cov_load1 __sanitizer_cov_load2 __sanitizer_cov_load4 __sanitizer_cov_load8 __sanitizer_cov_load16
    __sanitizer_cov_store1 __sanitizer_cov_store2 __sanitizer_cov_store4 __sanitizer_cov_store8
    __sanitizer_cov_store16 __sanitizer_dump_coverage __sanitizer_dump_trace_pc_guard_coverage
}

// There is no report, and no option was given.
none! {
    __tsan_get_current_report __tsan_get_report_data __tsan_get_report_loc __tsan_get_report_loc_object_type
    __tsan_get_report_mop __tsan_get_report_mutex __tsan_get_report_stack __tsan_get_report_tag
    __tsan_get_report_thread __tsan_get_report_unique_tid __tsan_get_alloc_stack __tsan_locate_address
    __tsan_on_report __tsan_default_options __tsan_default_suppressions __tsan_symbolize_external
    __tsan_symbolize_external_ex __tsan_external_register_tag __tsan_mutex_pre_unlock
    __sanitizer_get_report_path __sanitizer_install_malloc_and_free_hooks
    RunningOnValgrind ThreadSanitizerQuery
}

/// Whoever is told that it is the first to crash may go on with that.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_acquire_crash_state() -> c_int {
    1
}

/// Nothing is slower in virtual time.
#[unsafe(no_mangle)]
pub extern "C" fn ValgrindSlowdown() -> f64 {
    1.0
}

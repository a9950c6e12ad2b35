// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of the C, C++ and Rust libraries whose members are internal.
use super::{Debug, Die};
use gimli::constants as c;

/// What C++ programs keep things in; what they hold lies elsewhere, on the heap.
const CONTAINERS: [&str; 22] = [
    "vector",
    "deque",
    "list",
    "forward_list",
    "map",
    "multimap",
    "set",
    "multiset",
    "unordered_map",
    "unordered_multimap",
    "unordered_set",
    "unordered_multiset",
    "queue",
    "priority_queue",
    "stack",
    "basic_string",
    "unique_ptr",
    "shared_ptr",
    "weak_ptr",
    "function",
    "thread",
    "jthread",
];

impl Debug {
    /// Types whose members are internal to the library: the lock, atomic or container is the field.
    pub(super) fn is_opaque(&self, kind: Die) -> bool {
        let mut kind = kind;
        // No chain of typedefs is longer, but damaged debug information may have circles.
        for _ in 0..32 {
            if self.text(kind, c::DW_AT_name).is_some_and(|name| self.is_library_type(kind, &name)) {
                return true;
            }
            match (self.tag(kind), self.link(kind, c::DW_AT_type)) {
                (Some(c::DW_TAG_typedef | c::DW_TAG_const_type | c::DW_TAG_volatile_type), Some(inner)) => kind = inner,
                _ => return false,
            }
        }
        false
    }

    fn is_library_type(&self, kind: Die, name: &str) -> bool {
        let posix = name.strip_prefix("pthread_").is_some_and(|rest| rest.ends_with("_t"))
            || matches!(name, "sem_t" | "mtx_t" | "cnd_t" | "once_flag");
        let standard = name.starts_with("atomic<")
            || name.starts_with("__atomic_base<")
            || matches!(name, "atomic_flag" | "mutex" | "recursive_mutex" | "timed_mutex")
            || matches!(name, "shared_mutex" | "shared_timed_mutex" | "condition_variable" | "condition_variable_any");
        let container = CONTAINERS
            .iter()
            .any(|container| name.strip_prefix(container).is_some_and(|rest| rest.is_empty() || rest.starts_with('<')));
        let rust = name.starts_with("Atomic") && self.member_type(kind, "v").is_some();
        posix || rust || ((standard || container) && self.is_from_libstdcxx(kind))
    }

    fn is_from_libstdcxx(&self, kind: Die) -> bool {
        self.declared(kind).is_some_and(|(file, _)| file.contains("/c++/"))
    }

    /// Wrappers with a single member, which stands for them.
    pub(super) fn is_transparent(&self, kind: Die) -> bool {
        let name = self.text(kind, c::DW_AT_name).unwrap_or_default();
        ["UnsafeCell<", "Cell<", "ManuallyDrop<", "MaybeDangling<", "SyncUnsafeCell<"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    }

    /// libstdc++ keeps the elements of nodes and of shared pointers in raw storage for a `T`.
    pub(super) fn stored_type(&self, kind: Die) -> Option<Die> {
        let name = self.text(kind, c::DW_AT_name)?;
        (name.starts_with("__aligned_membuf<") || name.starts_with("__aligned_buffer<"))
            .then(|| self.first_type_argument(kind))?
    }

    /// `T` of the block that `std::make_shared<T>` allocates: the counts and the value.
    pub fn shared_value(&self, kind: Die) -> Option<Die> {
        let name = self.text(kind, c::DW_AT_name)?;
        name.starts_with("_Sp_counted_ptr_inplace<").then(|| self.first_type_argument(kind))?
    }

    /// `T` of `template<T>`.
    pub fn first_type_argument(&self, kind: Die) -> Option<Die> {
        let (_, argument) =
            self.children(kind).into_iter().find(|child| child.0 == c::DW_TAG_template_type_parameter)?;
        self.link(argument, c::DW_AT_type)
    }
}

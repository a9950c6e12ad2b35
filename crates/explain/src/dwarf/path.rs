//! From an offset in an object to the field there: `.slots[3].delta`.
use super::{Debug, Die};
use gimli::{DwTag, constants as c};

/// The smallest part of an object that holds all bytes of an access.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// From the object on: `.slots[3].delta`, `[3]`, or nothing for the object itself.
    pub path: String,
    pub type_name: String,
    pub offset: u64,
    pub size: u64,
    pub kind: Die,
}

/// A walk from an object's type down to a part of it.
struct Walk {
    path: String,
    kind: Die,
    /// Of `kind`, in the object.
    offset: u64,
    size: u64,
}

/// A member of a structure, or a base class.
struct Member {
    name: Option<String>,
    kind: Die,
    offset: u64,
    /// `None`: a flexible array, which reaches to the object's end.
    size: Option<u64>,
    is_bits: bool,
}

impl Member {
    fn holds(&self, from: u64, bytes: u64) -> bool {
        from >= self.offset
            && self
                .size
                .is_none_or(|size| from + bytes <= self.offset + size)
    }

    fn meets(&self, from: u64, bytes: u64) -> bool {
        from + bytes > self.offset && self.size.is_none_or(|size| from < self.offset + size)
    }
}

enum Step {
    Into(Walk),
    /// Several parts are touched; this says which.
    Across(String),
    End,
}

impl Debug {
    /// The part of a `kind` that an access of `bytes` at `offset` touches.
    pub fn part_at(&self, kind: Die, offset: u64, bytes: u64) -> Part {
        let mut walk = Walk {
            path: String::new(),
            kind,
            offset: 0,
            size: self.size_of(kind).unwrap_or(0),
        };
        // Deeper nesting than this is a type that contains itself: broken debug information.
        for _ in 0..24 {
            let step = if self.is_opaque(walk.kind) {
                Step::End
            } else {
                self.step(&walk, offset, bytes.max(1))
            };
            match step {
                Step::Into(next) => walk = next,
                Step::Across(names) => {
                    walk.path.push_str(&names);
                    break;
                }
                Step::End => break,
            }
        }
        let Walk {
            path,
            kind,
            offset,
            size,
        } = walk;
        Part {
            path,
            type_name: self.type_name(kind),
            offset,
            size,
            kind,
        }
    }

    fn step(&self, walk: &Walk, offset: u64, bytes: u64) -> Step {
        let kind = self.strip(walk.kind);
        let from = offset - walk.offset;
        match self.tag(kind) {
            Some(c::DW_TAG_structure_type | c::DW_TAG_class_type) => {
                self.step_struct(walk, kind, from, bytes)
            }
            Some(c::DW_TAG_union_type) => self.step_union(walk, kind, from, bytes),
            Some(c::DW_TAG_array_type) => self.step_array(walk, kind, from, bytes),
            _ => Step::End,
        }
    }

    fn step_struct(&self, walk: &Walk, kind: Die, from: u64, bytes: u64) -> Step {
        if let Some(stored) = self.stored_type(kind) {
            return Step::Into(self.stored(walk, stored));
        }
        let members = self.members(kind);
        let met: Vec<&Member> = members
            .iter()
            .filter(|member| member.meets(from, bytes))
            .collect();
        match met.as_slice() {
            [] if from == 0 && bytes >= walk.size => Step::End,
            [] if from >= walk.size => Step::Across(format!("+{from:#x}")),
            [] => Step::Across(format!("+{from:#x} (padding)")),
            [member] if member.holds(from, bytes) || member.is_bits => {
                Step::Into(self.step_into(walk, member, self.is_transparent(kind)))
            }
            // The whole structure is copied or cleared at once.
            _ if from == 0 && bytes >= walk.size => Step::End,
            several => Step::Across(span_name(several)),
        }
    }

    /// The value in raw storage; how the library wraps it says nothing to its user.
    fn stored(&self, walk: &Walk, kind: Die) -> Walk {
        let path = walk
            .path
            .trim_end_matches("._M_storage")
            .trim_end_matches("._M_impl")
            .to_owned();
        let size = self.size_of(kind).unwrap_or(walk.size);
        Walk {
            path,
            kind,
            offset: walk.offset,
            size,
        }
    }

    fn step_union(&self, walk: &Walk, kind: Die, from: u64, bytes: u64) -> Step {
        let members = self.members(kind);
        let holding = || members.iter().filter(|member| member.holds(from, bytes));
        let exact = |member: &&Member| {
            let part = self.part_at(member.kind, from - member.offset, bytes);
            part.offset + member.offset == from && part.size == bytes
        };
        match holding().find(exact).or_else(|| holding().next()) {
            Some(member) => Step::Into(self.step_into(walk, member, false)),
            None => Step::End,
        }
    }

    fn step_into(&self, walk: &Walk, member: &Member, hide: bool) -> Walk {
        let path = match &member.name {
            Some(name) if !hide => format!("{}.{}", walk.path, name.trim_start_matches("__")),
            _ => walk.path.clone(),
        };
        Walk {
            path,
            kind: member.kind,
            offset: walk.offset + member.offset,
            size: member.size.unwrap_or(0),
        }
    }

    fn step_array(&self, walk: &Walk, kind: Die, from: u64, bytes: u64) -> Step {
        let Some(element) = self.link(kind, c::DW_AT_type) else {
            return Step::End;
        };
        let Some(size) = self.size_of(element).filter(|size| *size > 0) else {
            return Step::End;
        };
        let (first, last) = (from / size, (from + bytes - 1) / size);
        let bounds = self.bounds(kind);
        if first != last {
            let whole = walk.size != 0 && from == 0 && bytes >= walk.size;
            return if whole {
                Step::End
            } else {
                Step::Across(format!("[{first}…{last}]"))
            };
        }
        let path = format!("{}{}", walk.path, subscripts(&bounds, first));
        Step::Into(Walk {
            path,
            kind: element,
            offset: walk.offset + first * size,
            size,
        })
    }

    fn members(&self, kind: Die) -> Vec<Member> {
        self.children(kind)
            .into_iter()
            .filter_map(|(tag, die)| self.member(tag, die))
            .collect()
    }

    fn member(&self, tag: DwTag, die: Die) -> Option<Member> {
        // A static member has neither offset nor place in the object.
        if !matches!(tag, c::DW_TAG_member | c::DW_TAG_inheritance)
            || self.flag(die, c::DW_AT_external)
        {
            return None;
        }
        let kind = self.link(die, c::DW_AT_type)?;
        let size = self.size_of(kind);
        if size == Some(0) {
            return None;
        }
        let name = if tag == c::DW_TAG_member {
            self.text(die, c::DW_AT_name)
        } else {
            None
        };
        let start = self.number(die, c::DW_AT_data_member_location).unwrap_or(0);
        match self.number(die, c::DW_AT_bit_size) {
            Some(bits) => {
                let (offset, bytes) = self.bit_bytes(die, start, size.unwrap_or(1), bits);
                Some(Member {
                    name,
                    kind,
                    offset,
                    size: Some(bytes),
                    is_bits: true,
                })
            }
            None => Some(Member {
                name,
                kind,
                offset: start,
                size,
                is_bits: false,
            }),
        }
    }

    /// The bytes that a bit-field has bits in: first and number.
    fn bit_bytes(&self, die: Die, start: u64, unit_bytes: u64, bits: u64) -> (u64, u64) {
        let first_bit = match (
            self.number(die, c::DW_AT_data_bit_offset),
            self.number(die, c::DW_AT_bit_offset),
        ) {
            (Some(offset), _) => start * 8 + offset,
            // DWARF 2 and 3 count from the most significant bit of the storage unit.
            (None, Some(offset)) => {
                let unit_bytes = self.number(die, c::DW_AT_byte_size).unwrap_or(unit_bytes);
                start * 8 + (unit_bytes * 8).saturating_sub(offset + bits)
            }
            (None, None) => start * 8,
        };
        (
            first_bit / 8,
            (first_bit + bits).div_ceil(8) - first_bit / 8,
        )
    }

    /// Types whose insides are the library's business: the lock or atomic is the field.
    fn is_opaque(&self, kind: Die) -> bool {
        let mut kind = kind;
        loop {
            if self
                .text(kind, c::DW_AT_name)
                .is_some_and(|name| self.is_library_type(kind, &name))
            {
                return true;
            }
            match (self.tag(kind), self.link(kind, c::DW_AT_type)) {
                (
                    Some(c::DW_TAG_typedef | c::DW_TAG_const_type | c::DW_TAG_volatile_type),
                    Some(inner),
                ) => kind = inner,
                _ => return false,
            }
        }
    }

    fn is_library_type(&self, kind: Die, name: &str) -> bool {
        let posix = name
            .strip_prefix("pthread_")
            .is_some_and(|rest| rest.ends_with("_t"))
            || matches!(name, "sem_t" | "mtx_t" | "cnd_t" | "once_flag");
        let standard = name.starts_with("atomic<")
            || name.starts_with("__atomic_base<")
            || matches!(
                name,
                "atomic_flag" | "mutex" | "recursive_mutex" | "timed_mutex"
            )
            || matches!(
                name,
                "shared_mutex"
                    | "shared_timed_mutex"
                    | "condition_variable"
                    | "condition_variable_any"
            );
        let rust = name.starts_with("Atomic")
            && self
                .members(kind)
                .iter()
                .any(|m| m.name.as_deref() == Some("v"));
        posix || rust || (standard && self.is_from_libstdcxx(kind))
    }

    fn is_from_libstdcxx(&self, kind: Die) -> bool {
        self.declared(kind)
            .is_some_and(|(file, _)| file.contains("/c++/"))
    }

    /// Wrappers whose one member is the thing itself.
    fn is_transparent(&self, kind: Die) -> bool {
        let name = self.text(kind, c::DW_AT_name).unwrap_or_default();
        [
            "UnsafeCell<",
            "Cell<",
            "ManuallyDrop<",
            "MaybeDangling<",
            "SyncUnsafeCell<",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    }

    /// libstdc++ keeps the elements of nodes and of shared pointers in raw storage for a `T`.
    fn stored_type(&self, kind: Die) -> Option<Die> {
        let name = self.text(kind, c::DW_AT_name)?;
        (name.starts_with("__aligned_membuf<") || name.starts_with("__aligned_buffer<"))
            .then(|| self.first_type_argument(kind))?
    }

    /// `T` of the block that `std::make_shared<T>` allocates: the counts and the value.
    pub fn shared_value(&self, kind: Die) -> Option<Die> {
        let name = self.text(kind, c::DW_AT_name)?;
        name.starts_with("_Sp_counted_ptr_inplace<")
            .then(|| self.first_type_argument(kind))?
    }

    /// `T` of `template<T>`.
    pub fn first_type_argument(&self, kind: Die) -> Option<Die> {
        let (_, argument) = self
            .children(kind)
            .into_iter()
            .find(|child| child.0 == c::DW_TAG_template_type_parameter)?;
        self.link(argument, c::DW_AT_type)
    }

    /// Whether an object of this type may be longer than the type says: `struct { …; T rest[]; }`.
    pub fn is_flexible(&self, kind: Die) -> bool {
        let kind = self.strip(kind);
        self.tag(kind) == Some(c::DW_TAG_structure_type)
            && self
                .members(kind)
                .last()
                .is_some_and(|last| last.size.is_none() || self.is_one_element(last))
    }

    /// Before C99, the last member was declared with one element.
    fn is_one_element(&self, member: &Member) -> bool {
        let kind = self.strip(member.kind);
        self.tag(kind) == Some(c::DW_TAG_array_type) && self.bounds(kind) == [Some(1)]
    }

    /// The type of the member `name`, looked for in base classes and anonymous members too.
    pub fn member_type(&self, kind: Die, name: &str) -> Option<Die> {
        let members = self.members(self.strip(kind));
        let own = members
            .iter()
            .find(|member| member.name.as_deref() == Some(name));
        own.map(|member| member.kind).or_else(|| {
            members
                .iter()
                .filter(|member| member.name.is_none())
                .find_map(|member| self.member_type(member.kind, name))
        })
    }
}

/// `.first…last`, or `.{a,b}` for bits that share bytes.
fn span_name(members: &[&Member]) -> String {
    let names: Vec<&str> = members
        .iter()
        .map(|member| member.name.as_deref().unwrap_or("{…}"))
        .collect();
    if members.iter().all(|member| member.is_bits) {
        return format!(".{{{}}}", names.join(","));
    }
    format!(".{}…{}", names[0], names[names.len() - 1])
}

/// `[2][5]` for the element `flat` of an array with these bounds.
fn subscripts(bounds: &[Option<u64>], flat: u64) -> String {
    let mut rest = flat;
    let mut subscripts = Vec::new();
    for bound in bounds.iter().skip(1).rev() {
        let bound = bound.unwrap_or(1);
        subscripts.push(rest % bound);
        rest /= bound;
    }
    subscripts.push(rest);
    subscripts
        .iter()
        .rev()
        .map(|subscript| format!("[{subscript}]"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::subscripts;

    #[test]
    fn the_last_subscript_runs_fastest() {
        assert_eq!(subscripts(&[Some(3), Some(4)], 7), "[1][3]");
        assert_eq!(subscripts(&[None], 7), "[7]");
    }
}

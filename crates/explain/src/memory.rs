// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a data address to the object and field there: labels, heap objects, stacks, variables, symbols.
use crate::dwarf::{Debug, Die};
use crate::heap::{Heap, Layout};
use crate::rust;
use crate::space::{Space, Spot};
use crate::stack::{StackSpot, Stacks};
use crate::symbols::{Symbol, demangle};
use crate::types::{Element, Note, ObjectUse, Place, Storage, UNKNOWN_OBJECT, base_name};
use corefold_recording::{Label, Mapping, Object, Run};

/// What lies at an address.
pub(crate) struct Found {
    pub object: ObjectUse,
    pub field: Field,
    /// The function whose variable it is.
    pub function: Option<String>,
}

/// The name of memory that nothing else names.
pub(crate) enum Spoken {
    /// A field, the function whose variable it is in, and what it is called if it is a lock of Rust.
    Field { name: String, function: Option<String>, lock: Option<String> },
    /// `at +0x8 of object at x.c:12 (heap, 48 bytes)`.
    Place(String),
}

/// A part of an object.
pub(crate) struct Field {
    pub name: String,
    pub type_name: Option<String>,
    /// In the object.
    pub offset: u64,
    pub size: u64,
    /// The elements of arrays that it lies in, outer before inner.
    pub elements: Vec<Element>,
    /// What it is called if it is a lock of Rust: `Mutex`, `parking_lot RwLock`.
    pub lock: Option<String>,
}

/// Everything that gives names to the data of one run.
pub(crate) struct Memory<'a> {
    space: &'a Space<'a>,
    heap: Heap<'a>,
    stacks: Stacks<'a>,
    labels: &'a [Label],
    thread_pointers: &'a [u64],
}

/// An object, and what is known of its layout.
struct Thing<'a> {
    object: ObjectUse,
    /// What names of fields begin with.
    base: String,
    layout: Option<(&'a Debug, Layout)>,
    /// What offsets without a name are counted from: not 0 if only a later part of a file is mapped.
    first_offset: u64,
    /// The function that has this on its stack.
    function: Option<String>,
}

impl Found {
    /// `None` where nothing is known.
    pub fn spoken(self) -> Option<Spoken> {
        let Found { object, field, function } = self;
        let nameless = object.storage == Storage::Stack && object.bytes == 0;
        match field.name {
            _ if !object.is_known() => None,
            _ if nameless => Some(Spoken::Place(format!("on {}", object.name))),
            name if name.starts_with('+') => Some(Spoken::Place(format!("at {name} of {}", object.name))),
            name => Some(Spoken::Field { name, function, lock: field.lock }),
        }
    }
}

impl<'a> Memory<'a> {
    pub fn new(run: &'a Run, space: &'a Space<'a>) -> Memory<'a> {
        let (heap, stacks) = (Heap::new(&run.allocations, space), Stacks::new(&run.frames, space));
        Memory { space, heap, stacks, labels: &run.labels, thread_pointers: &run.thread_pointers }
    }

    /// Which types are unknown, and why.
    pub fn notes(&self) -> Vec<Note> {
        self.heap.notes()
    }

    /// What an access of `bytes` at `address` touches; `objects` are the heap objects thereabouts.
    pub fn at(&self, address: u64, bytes: u64, objects: &[Object]) -> Found {
        self.thing(address, objects).found(address, bytes)
    }

    /// The object at `address`, and its type if that is known.
    pub fn typed(&self, address: u64, objects: &[Object]) -> Option<(ObjectUse, &'a Debug, Layout)> {
        let Thing { object, layout, .. } = self.thing(address, objects);
        layout.map(|(debug, layout)| (object, debug, layout))
    }

    /// The same by less: of a library whose debug information is kept apart, the symbol.
    pub fn named(&self, address: u64, bytes: u64, objects: &[Object]) -> Found {
        let library = || {
            let spot = self.space.spot(address).filter(|_| objects.is_empty() && self.label_at(address).is_none())?;
            Some(Thing::of_symbol(spot, spot.library()?.data_at(spot.address)?))
        };
        library().unwrap_or_else(|| self.thing(address, objects)).found(address, bytes)
    }

    fn thing(&self, address: u64, objects: &[Object]) -> Thing<'a> {
        let inside = |object: &&Object| (object.address..object.address + object.bytes.max(1)).contains(&address);
        let thing = match objects.iter().find(inside) {
            Some(object) => self.allocated(object),
            None => self.outside_heap(address),
        };
        match self.label_at(address) {
            Some(label) if label.stride > 0 => self.in_slab(address, label),
            Some(label) => thing.labelled(label),
            None => thing,
        }
    }

    /// Blocks of thread-local variables lie where the threads' stacks do.
    fn outside_heap(&self, address: u64) -> Thing<'a> {
        let elsewhere = || match self.stacks.at(address) {
            Some(spot) => self.on_stack(address, &spot),
            None => self.global(address),
        };
        self.thread_local(address).unwrap_or_else(elsewhere)
    }

    /// A thread-local variable of the program's own file.
    fn thread_local(&self, address: u64) -> Option<Thing<'a>> {
        let (debug, bytes) = self.space.program()?;
        let after = self.thread_pointers.partition_point(|pointer| *pointer <= address);
        let begin = self.thread_pointers.get(after)?.checked_sub(bytes)?;
        let offset = address.checked_sub(begin)?;
        let variable = debug.thread_local_at(offset)?;
        let name = debug.full_name(variable);
        // Rust's macro wraps the variable in closures.
        let name = name.split("::{").next().unwrap_or(&name).to_owned();
        Some(Thing::variable(debug, variable.die, name, begin + variable.address))
    }

    /// The narrowest label around `address`.
    fn label_at(&self, address: u64) -> Option<&'a Label> {
        let around = |label: &&Label| (label.address..label.address + label.bytes.max(1)).contains(&address);
        self.labels.iter().filter(around).min_by_key(|label| label.bytes)
    }

    fn allocated(&self, object: &Object) -> Thing<'a> {
        if let Some(place) = self.heap.stream(object) {
            let name = format!("stream (FILE) opened at {} (heap, {} bytes)", spot_name(&place), object.bytes);
            let (address, bytes) = (object.address, object.bytes);
            let (storage, origin) = (Storage::Library, Some(place));
            let object = ObjectUse { name, address, bytes, type_name: Some("FILE".into()), storage, stride: 0, origin };
            return Thing { object, base: "FILE".into(), layout: None, first_offset: 0, function: None };
        }
        let (typed, origin) = self.heap.object(object);
        let (type_name, base) = match &typed {
            Some((debug, layout)) => (Some(layout.type_name(debug)), layout.short_name(debug)),
            None => (None, String::new()),
        };
        let at = origin.as_ref().map(|place| format!(" at {}", spot_name(place))).unwrap_or_default();
        let what = type_name.as_deref();
        let mapping = self.heap.mapping(object);
        let (name, storage) = match mapping {
            None => (format!("{}{at} (heap, {} bytes)", what.unwrap_or("object"), object.bytes), Storage::Heap),
            Some(mapping) => (mapping_name(what, &at, mapping, object.bytes), Storage::Mapping),
        };
        let (base, first_offset) = match mapping {
            Some(mapping) if typed.is_none() => (mapping.file.clone(), mapping.offset),
            _ => (base, 0),
        };
        let object =
            ObjectUse { name, address: object.address, bytes: object.bytes, type_name, storage, stride: 0, origin };
        Thing { object, base, layout: typed, first_offset, function: None }
    }

    /// An object of the program's own allocator, which told its name: that of a structure, maybe.
    fn in_slab(&self, address: u64, label: &Label) -> Thing<'a> {
        let begin = label.address + (address - label.address) / label.stride * label.stride;
        let typed = self.space.type_named(&label.name).filter(|(_, _, bytes)| *bytes <= label.stride);
        let (layout, bytes) = match typed {
            Some((debug, kind, bytes)) => (Some((debug, Layout::single(kind))), bytes),
            None => (None, label.stride),
        };
        let type_name = layout.as_ref().map(|(debug, layout)| layout.type_name(debug));
        let what = type_name.as_deref().unwrap_or(&label.name);
        let name = format!("{what} (slab, one every {} bytes)", label.stride);
        let (storage, stride) = (Storage::Slab, label.stride);
        let object = ObjectUse { name, address: begin, bytes, type_name, storage, stride, origin: None };
        Thing { object, base: label.name.clone(), layout, first_offset: 0, function: None }
    }

    fn on_stack(&self, address: u64, spot: &StackSpot<'a>) -> Thing<'a> {
        if let Some((debug, variable)) = spot.variable {
            let name = debug.name(variable.die).unwrap_or_default();
            let function = debug.function_name(variable.function);
            let mut thing = Thing::variable(debug, variable.die, name.clone(), variable.address);
            thing.object.name = spot.variable_name(&name, &function, thing.object.origin.as_ref());
            thing.object.storage = Storage::Stack;
            return Thing { function: Some(function), ..thing };
        }
        let owner = spot.frame.and_then(|frame| self.stacks.owner(frame));
        let name = match &owner {
            Some(owner) => format!("{}, in {owner}", spot.stack_name()),
            None => spot.stack_name(),
        };
        let base = spot.frame.map_or(format!("{address:#x}"), |frame| format!("cfa-{:#x}", frame.cfa - address));
        let object = ObjectUse { name, address, storage: Storage::Stack, origin: owner, ..ObjectUse::default() };
        Thing { object, base, layout: None, first_offset: 0, function: None }
    }

    fn global(&self, address: u64) -> Thing<'a> {
        let Some(spot) = self.space.spot(address) else {
            return Thing::unknown(address);
        };
        let variable = spot.image.debug().and_then(|debug| Some((debug, debug.variable_at(spot.address)?)));
        match variable {
            Some((debug, variable)) => {
                let name = debug.full_name(variable);
                Thing::variable(debug, variable.die, name, spot.module.base + variable.address)
            }
            None => self.symbol(spot),
        }
    }

    fn symbol(&self, spot: Spot<'a>) -> Thing<'a> {
        self.space.miss(spot);
        match spot.image.symbols.data_at(spot.address) {
            Some(symbol) => Thing::of_symbol(spot, symbol),
            // Each offset has a name of its own: that says nothing of what lies there.
            None => Thing::of_name(spot.as_offset(), spot.module.base.wrapping_add(spot.address), 0, Storage::Unknown),
        }
    }
}

impl<'a> Thing<'a> {
    fn found(self, address: u64, bytes: u64) -> Found {
        let field = self.field(address, bytes);
        Found { object: self.object, field, function: self.function }
    }

    fn of_symbol(spot: Spot<'_>, symbol: &Symbol) -> Thing<'a> {
        let address = spot.module.base.wrapping_add(symbol.address);
        Thing::of_name(demangle(&symbol.raw_name), address, symbol.bytes, Storage::Global)
    }

    fn of_name(name: String, address: u64, bytes: u64, storage: Storage) -> Thing<'a> {
        let object = ObjectUse { name: name.clone(), address, bytes, storage, ..ObjectUse::default() };
        Thing { object, base: name, layout: None, first_offset: 0, function: None }
    }

    fn unknown(address: u64) -> Thing<'a> {
        let object = ObjectUse { name: UNKNOWN_OBJECT.to_owned(), address, ..ObjectUse::default() };
        Thing { object, base: format!("{address:#x}"), layout: None, first_offset: 0, function: None }
    }

    fn variable(debug: &'a Debug, die: Die, name: String, address: u64) -> Thing<'a> {
        let kind = debug.type_of(die);
        let origin = debug.declared(die).map(|(file, line)| Place {
            function: name.clone(),
            file: Some(file),
            line: Some(line),
        });
        let object = ObjectUse {
            name: origin.as_ref().map_or(name.clone(), Place::to_string),
            address,
            bytes: kind.and_then(|kind| debug.size_of(kind)).unwrap_or(0),
            type_name: kind.map(|kind| debug.type_name(kind)),
            storage: Storage::Global,
            stride: 0,
            origin,
        };
        Thing {
            object,
            base: name,
            layout: kind.map(|kind| (debug, Layout::single(kind))),
            first_offset: 0,
            function: None,
        }
    }

    /// The part of this that the program gave a name of its own.
    fn labelled(self, label: &Label) -> Thing<'a> {
        let offset = label.address.saturating_sub(self.object.address);
        let layout = self.layout.and_then(|(debug, layout)| {
            if offset == 0 && label.bytes >= self.object.bytes {
                return Some((debug, layout));
            }
            let part = layout.part(debug, offset, label.bytes);
            (part.offset == offset && part.size == label.bytes).then(|| (debug, Layout::single(part.kind)))
        });
        let object = ObjectUse {
            name: label.name.clone(),
            address: label.address,
            bytes: label.bytes,
            type_name: layout.as_ref().map(|(debug, layout)| layout.type_name(debug)),
            ..self.object
        };
        Thing { object, base: label.name.clone(), layout, first_offset: 0, function: None }
    }

    fn field(&self, address: u64, bytes: u64) -> Field {
        let offset = address.saturating_sub(self.object.address);
        match &self.layout {
            Some((debug, layout)) => {
                let part = layout.part(debug, offset, bytes);
                let elements = part.elements.iter().map(|element| Element {
                    name: format!("{}{}", self.base, &part.path[..element.path_length]),
                    type_name: rust::type_name(debug, element.kind),
                    address: self.object.address + element.offset,
                    size: element.size,
                    of_object: part.path.starts_with('['),
                });
                let elements = elements.collect();
                Field {
                    elements,
                    name: format!("{}{}", self.base, part.path),
                    type_name: Some(part.type_name),
                    offset: part.offset,
                    size: part.size,
                    lock: part.lock,
                }
            }
            None => {
                let whole = offset + self.first_offset == 0 && !self.base.is_empty();
                let shown = offset + self.first_offset;
                let name = if whole { self.base.clone() } else { format!("{}+{shown:#x}", self.base) };
                Field { name, type_name: None, offset, size: bytes, elements: Vec::new(), lock: None }
            }
        }
    }
}

/// `struct slot[8] at table.c:42 (mapping of table.db, 4096 bytes)`, or without the type if that is not known.
fn mapping_name(type_name: Option<&str>, at: &str, mapping: &Mapping, bytes: u64) -> String {
    let what = match (mapping.file.as_str(), mapping.offset) {
        ("", _) => "anonymous mapping".to_owned(),
        (file, 0) => format!("mapping of {file}"),
        (file, offset) => format!("mapping of {file} from {offset:#x}"),
    };
    match type_name {
        Some(name) => format!("{name}{at} ({what}, {bytes} bytes)"),
        None => format!("{what}{at} ({bytes} bytes)"),
    }
}

/// `counter.c:42`, or the function where the line is not known.
pub(crate) fn spot_name(place: &Place) -> String {
    match (&place.file, place.line) {
        (Some(file), Some(line)) => format!("{}:{line}", base_name(file)),
        _ => place.function.clone(),
    }
}

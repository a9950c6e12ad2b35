// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory on threads' stacks: whose frame it lies in, and which variable.
use crate::code;
use crate::dwarf::Debug;
use crate::dwarf::frame::FrameVariable;
use crate::space::Space;
use crate::types::{Place, base_name};
use corefold_recording::Frame;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Where a run has its threads' stacks, and how much of that is a thread's: as the engine lays them out.
const STACKS: u64 = 0x4000_0000_0000;
const STACKS_BYTES: u64 = 1 << 42;
const SLOT: u64 = 32 << 20;

/// The frames of a run that something shared lies in.
pub(crate) struct Stacks<'a> {
    frames: &'a [Frame],
    space: &'a Space<'a>,
    /// The named variables of frames that were asked for, with the bytes that they have.
    known: RefCell<HashMap<&'a Frame, Rc<Variables<'a>>>>,
}

type Variables<'a> = Vec<(Range<u64>, &'a Debug, FrameVariable)>;

/// A place on a stack.
pub(crate) struct StackSpot<'a> {
    pub thread: u64,
    pub frame: Option<&'a Frame>,
    pub variable: Option<(&'a Debug, FrameVariable)>,
}

impl<'a> Stacks<'a> {
    pub fn new(frames: &'a [Frame], space: &'a Space<'a>) -> Stacks<'a> {
        Stacks { frames, space, known: RefCell::default() }
    }

    /// `None` if no stack is there.
    pub fn at(&self, address: u64) -> Option<StackSpot<'a>> {
        let slot = address.checked_sub(STACKS).filter(|offset| *offset < STACKS_BYTES)? / SLOT;
        let end = STACKS + (slot + 1) * SLOT;
        let mut frames: Vec<&Frame> = self.frames.iter().filter(|f| f.cfa > address && f.cfa <= end).collect();
        frames.sort_by_key(|frame| frame.cfa);
        let holding = frames.iter().flat_map(|frame| self.variables(frame, address));
        // Frames come and go: one that reaches down to here may have been noted beside a nearer one.
        let variable = holding.min_by_key(|(frame, _, variable)| (!variable.is_live, frame.cfa, variable.depth));
        let frame = variable.map(|found| found.0).or(frames.first().copied());
        let thread = frame.map_or(slot, |frame| u64::from(frame.thread));
        Some(StackSpot { thread, frame, variable: variable.map(|(_, debug, variable)| (debug, variable)) })
    }

    /// The frame's variables that have the byte at `address`.
    fn variables(&self, frame: &'a Frame, address: u64) -> Vec<(&'a Frame, &'a Debug, FrameVariable)> {
        let known = self.known.borrow().get(frame).cloned();
        let all = known.unwrap_or_else(|| {
            let all = Rc::new(self.all_variables(frame).unwrap_or_default());
            self.known.borrow_mut().insert(frame, all.clone());
            all
        });
        let holding = all.iter().filter(|(bytes, ..)| bytes.contains(&address));
        holding.map(|(_, debug, variable)| (frame, *debug, *variable)).collect()
    }

    fn all_variables(&self, frame: &Frame) -> Option<Variables<'a>> {
        let debug = self.space.debug_at(frame.pc)?;
        let pc = self.space.spot(frame.pc - 1)?.address;
        let variables = debug.frame_variables(self.function(frame)?.die?, pc, frame.cfa).into_iter();
        let named = variables.filter(|variable| debug.name(variable.die).is_some());
        let bytes = |die| debug.type_of(die).and_then(|kind| debug.size_of(kind)).unwrap_or(1);
        Some(named.map(|v| (v.address..v.address + bytes(v.die), debug, v)).collect())
    }

    /// The function whose frame it is: what is inlined into it has none of its own.
    fn function(&self, frame: &Frame) -> Option<code::Frame> {
        self.space.callers_at(frame.pc).last().cloned()
    }

    /// The function whose frame it is, and where it begins.
    pub fn owner(&self, frame: &Frame) -> Option<Place> {
        let function = self.function(frame)?;
        let declared = self.space.debug_at(frame.pc).zip(function.die).and_then(|(debug, die)| debug.declared(die));
        let (file, line) = declared.unzip();
        Some(Place { function: function.function, file, line })
    }
}

impl StackSpot<'_> {
    /// `stack of thread 3`.
    pub fn stack_name(&self) -> String {
        format!("stack of thread {}", self.thread)
    }

    /// `m in main (stack of thread 0, sp.cpp:16)`.
    pub fn variable_name(&self, name: &str, function: &str, declared: Option<&Place>) -> String {
        let at = declared.and_then(|place| Some(format!(", {}:{}", base_name(place.file.as_deref()?), place.line?)));
        format!("{name} in {function} ({}{})", self.stack_name(), at.unwrap_or_default())
    }
}

//! The types of heap objects, from the code that allocated them.
mod layout;

pub(crate) use layout::Layout;

use crate::dwarf::Debug;
use crate::space::Space;
use crate::types::Place;
use corefold_recording::{AllocSite, Object};

/// Types by allocation site.
pub(crate) struct Heap<'a> {
    sites: &'a [AllocSite],
    space: &'a Space<'a>,
}

impl<'a> Heap<'a> {
    pub fn new(sites: &'a [AllocSite], space: &'a Space<'a>) -> Heap<'a> {
        Heap { sites, space }
    }

    /// What the object is, if that can be told, and where it was allocated.
    pub fn object(&self, object: &Object) -> (Option<(&'a Debug, Layout)>, Option<Place>) {
        let place = self
            .sites
            .get(object.site as usize)
            .and_then(|site| self.space.call_place(*site.stack.first()?));
        (None, place)
    }
}

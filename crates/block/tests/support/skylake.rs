// SPDX-License-Identifier: MIT OR Apache-2.0
//! The core that tests are about.
use corefold_block::Core;

pub const CORE: Core = Core {
    width: 4,
    pause: 140,
    rmw: 18,
    fence: 33,
    load: 5,
    forward: 5,
    renamed: 5,
    renamed_indexed: 5,
    renamed_twice: 5,
    reload: 5,
    window: 56,
    scheduler: 97,
    chains: true,
    taken_branch: 1,
};

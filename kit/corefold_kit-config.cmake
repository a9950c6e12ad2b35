# SPDX-License-Identifier: MIT OR Apache-2.0
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/corefold_kit-targets.cmake)

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A header that clang reads first, so that `__has_feature(thread_sanitizer)` is false: a program should take
//! the paths that it takes in production.
//!
//! The built-in `__has_feature` cannot be reached any more once a macro has its name. But
//! `__has_extension` can, and gives the same answers except for what is an extension in one version of
//! the language and a feature in the next; of these the header first asks the built-in one.
use std::fmt::Write;

/// What clang has as an extension, too.
const EXTENSIONS: &[&str] = &[
    "blocks",
    "builtin_headers_in_system_modules",
    "c_alignas",
    "c_alignof",
    "c_atomic",
    "c_countof",
    "c_fixed_enum",
    "c_generic_selections",
    "c_generic_selection_with_controlling_type",
    "c_static_assert",
    "c_thread_local",
    "cxx_atomic",
    "cxx_attributes_on_using_declarations",
    "cxx_binary_literals",
    "cxx_default_function_template_args",
    "cxx_defaulted_functions",
    "cxx_deleted_functions",
    "cxx_explicit_conversions",
    "cxx_fixed_enum",
    "cxx_generalized_nttp",
    "cxx_init_captures",
    "cxx_inline_namespaces",
    "cxx_lambdas",
    "cxx_local_type_template_args",
    "cxx_nonstatic_member_init",
    "cxx_override_control",
    "cxx_range_for",
    "cxx_reference_qualified_functions",
    "cxx_rvalue_references",
    "cxx_variable_templates",
    "cxx_variadic_templates",
    "datasizeof",
    "define_target_os_macros",
    "gnu_asm",
    "gnu_asm_constexpr_strings",
    "gnu_asm_goto_with_outputs",
    "gnu_asm_goto_with_outputs_full",
    "matrix_types",
    "matrix_types_scalar_division",
    "overloadable_unmarked",
    "pragma_clang_attribute_external_declaration",
    "pragma_clang_attribute_namespaces",
    "statement_attributes_with_gnu_syntax",
];

/// What is never there.
const HIDDEN: [&str; 2] = ["thread_sanitizer", "__thread_sanitizer__"];

/// An answer that is known is a second argument before that of `__has_extension`.
const REDEFINE: &str = "\
#define __corefold_second(first, second, ...) second
#define __corefold_answer(known, x) __corefold_second(known, __has_extension(x), 0)
#undef __has_feature
#define __has_feature(x) __corefold_answer(__corefold_feature_##x, x)
#endif
";

pub fn header() -> String {
    // Precompiled headers hold it already.
    let mut text = String::from("#pragma GCC system_header\n#ifndef __corefold_answer\n");
    for name in HIDDEN {
        writeln!(text, "#define __corefold_feature_{name} ~, 0").expect("a string takes it");
    }
    for name in EXTENSIONS {
        writeln!(
            text,
            "#if __has_feature({name})\n#define __corefold_feature_{name} ~, 1\n#else\n\
             #define __corefold_feature_{name} ~, 0\n#endif"
        )
        .expect("a string takes it");
    }
    text + REDEFINE
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls around instructions of inline assembly, as `corefold cc` writes them.

pub const STACK: &str = "
	leaq -128(%rsp), %rsp
	pushq %rdi
	leaq 136+8(%rsp,%r13,4), %rdi
	pushq $0x40002304
	call *corefold_assembly@GOTPCREL(%rip)
	popq %rdi
	leaq 128(%rsp), %rsp";

pub const SYMBOL: &str = "
	leaq -128(%rsp), %rsp
	pushq %rdi
	leaq counter(%rip), %rdi
	pushq $0x40002308
	call *corefold_assembly@GOTPCREL(%rip)
	popq %rdi
	leaq 128(%rsp), %rsp";

pub const ABSOLUTE: &str = "
	leaq -128(%rsp), %rsp
	pushq %rdi
	leaq t@tpoff, %rdi
	pushq $0x40003304
	call *corefold_assembly@GOTPCREL(%rip)
	popq %rdi
	leaq 128(%rsp), %rsp";

pub const FENCE: &str = "
	leaq -128(%rsp), %rsp
	pushq $0x40000400
	call *corefold_assembly@GOTPCREL(%rip)
	leaq 128(%rsp), %rsp";

pub const DONE: &str = "
	leaq -128(%rsp), %rsp
	pushq $0x41000600
	call *corefold_assembly@GOTPCREL(%rip)
	leaq 128(%rsp), %rsp";

pub const BLOCK: &str = "
	leaq -128(%rsp), %rsp
	pushq $0x42000700
	call *corefold_assembly@GOTPCREL(%rip)
	leaq 128(%rsp), %rsp";

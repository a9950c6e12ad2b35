// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands for the hottest hooks in the inline build. Label 1 is the slow path, label 2 the end.

pub const READ: &str = "
	movq %rdi, %rax
	shrq $6, %rax
	movl 0x7f000000(,%rax,4), %eax
	andl $-4, %eax
	cmpl 0x100000, %eax
	jne 1f
2:";

pub const WRITE: &str = "
	movq %rdi, %rax
	shrq $6, %rax
	movb $1, 0x100030
	movl 0x7f000000(,%rax,4), %eax
	cmpl 0x100004, %eax
	jne 1f
2:";

pub const BLOCK: &str = "
	leaq cell(%rip), %rdi
	movq 0x100008, %rax
	movzwl (%rdi,%rax), %eax
	testl %eax, %eax
	je 1f
	addq 0x100010, %rax
	movq %rax, 0x100010
	cmpq 0x100018, %rax
	jae 1f
2:";

pub const ENTRY: &str = "
	movq 0x100020, %rax
	movq %rdi, (%rax)
	addq 0x100028, %rax
	movq %rax, 0x100020
2:";

pub const EXIT: &str = "
	movq 0x100028, %rax
	subq %rax, 0x100020
2:";

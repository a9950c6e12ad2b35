/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define ONE $1
	.text
	.globl	bump
	.type	bump, @function
bump:
	lock; addl ONE, (%rdi)
	ret
	.size	bump, .-bump
	.section .note.GNU-stack,"",@progbits

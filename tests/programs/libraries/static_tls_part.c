// SPDX-License-Identifier: MIT OR Apache-2.0
static __thread int own __attribute__((tls_model("initial-exec"))) = 5;

int value(void)
{
	return own;
}

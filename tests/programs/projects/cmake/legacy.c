/* SPDX-License-Identifier: MIT OR Apache-2.0 */
int rounds(void)
{
	return 3000;
}

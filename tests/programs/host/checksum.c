// SPDX-License-Identifier: MIT OR Apache-2.0
// Work that is compiled without hooks: a shared library, or an object file of the program.
#include "checksum.h"

unsigned long checksum(const unsigned char *bytes, unsigned long count, unsigned rounds)
{
	unsigned long sum = 1;
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned long i = 0; i < count; i++)
			sum = sum * 31 + bytes[i];
	return sum;
}

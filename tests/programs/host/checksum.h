// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

unsigned long checksum(const unsigned char *bytes, unsigned long count, unsigned rounds);

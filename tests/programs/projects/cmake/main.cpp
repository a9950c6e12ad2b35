// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tally.h"
#include <cstdio>
#include <thread>

extern "C" int rounds();

int main()
{
	auto *tally = new Tally;
	std::thread up([tally] { for (int i = 0; i < rounds(); i++) tally->up(); });
	for (int i = 0; i < rounds(); i++)
		tally->down();
	up.join();
	printf("%ld\n", tally->value());
	return tally->value() != 0;
}

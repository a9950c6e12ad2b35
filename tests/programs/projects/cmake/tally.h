// SPDX-License-Identifier: MIT OR Apache-2.0
#include <atomic>

class Tally {
public:
	void up();
	void down();
	long value() const { return ups_ - downs_; }

private:
	std::atomic<long> ups_{0}, downs_{0};
};

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the libraries of the program offer each other. */
#ifdef __cplusplus
extern "C" {
#endif

struct entry {
	long account, amount, balance;
};

/* libledger.so: books an entry and tells its number. */
long ledger_book(const struct entry *entry);
long ledger_booked(void);

/* libaudit.so: looks at each entry that it is told of. */
void audit_note(const struct entry *entry);
long audit_noted(void);

#ifdef __cplusplus
}
#endif

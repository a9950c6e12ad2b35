/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Writes to the file that is named first, as `how` says, and reads the file that is named last.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    const char *how = argv[1];
    if (!strcmp(how, "stdio")) {
        FILE *file = fopen(argv[2], "w");
        if (!file || fputs("x\n", file) < 0 || fclose(file))
            return 1;
    } else {
        int fresh = !strcmp(how, "fresh");
        int fd = !strcmp(how, "creat") ? creat(argv[2], 0600) : open(argv[2], O_RDWR | O_CREAT | (fresh ? O_EXCL : 0), 0600);
        if (fd >= 0 && (write(fd, "x\n", 2) != 2 || close(fd)))
            return 1;
    }
    FILE *read = fopen(argv[3], "r");
    return !read || fclose(read);
}

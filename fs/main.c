#include "fs/mount.h"

int main(int argc, char **argv)
{
	return mount_main(argc, argv, store_open);
}

//go:build !linux

package storetest

import "os"

// HasLossyDisk reports whether a LossyDisk works on this system: it needs the numbers of inodes.
const HasLossyDisk = false

func inode(os.FileInfo) uint64 { return 0 }

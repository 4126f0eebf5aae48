// Package power tests power cuts. The workspace is on a file system of its own, in a file. A cut makes the
// kernel forget what it has not written to the disk yet. After that, every command must work without any
// repair, and nothing that was acknowledged may be lost. It needs Linux, root and ext4: make soak-power.
package power
